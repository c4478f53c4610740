import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import { JsonRpcFailure } from "./errors.ts";
import { answerToRest, messageParamsFromRest, pushParamsFromRest, pushToRest, taskToRest } from "./rest-json.ts";

/** A request of the HTTP+JSON binding, as far as it says what is asked. */
export interface RestRequest {
  readonly verb: string;
  /** The path behind `/v1/`, still encoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: JsonObject;
}

/** What a request asks: a method of JSON-RPC, and how its answer is written. */
export interface Operation {
  readonly method: string;
  readonly params: JsonObject;
  write(result: JsonValue): JsonValue;
}

interface Pattern {
  readonly verbs: readonly string[];
  readonly path: RegExp;
  readonly method: string;
  params?(ids: Readonly<Record<string, string>>, request: RestRequest): JsonObject;
  readonly write: (result: JsonValue) => JsonValue;
}

const asIs = (result: JsonValue): JsonValue => result;
const ID = "(?<id>[^/:]+)";
const CONFIGS = `tasks/${ID}/pushNotificationConfigs`;
const oneConfig = ({ id = "", config = "" }): JsonObject => ({ id, pushNotificationConfigId: config });

/** The paths of A2A 0.3, section 3.5.3, with what its SDKs do beyond it. */
const PATTERNS: readonly Pattern[] = [
  {
    verbs: ["POST"],
    path: /^message:send$/,
    method: "message/send",
    params: (_, { body }) => messageParamsFromRest(body),
    write: answerToRest,
  },
  {
    verbs: ["POST"],
    path: /^message:stream$/,
    method: "message/stream",
    params: (_, { body }) => messageParamsFromRest(body),
    write: answerToRest,
  },
  {
    verbs: ["GET"],
    path: new RegExp(`^tasks/${ID}$`),
    method: "tasks/get",
    params: (ids, { query }) => ({ ...ids, ...historyLengthIn(query) }),
    write: taskToRest,
  },
  { verbs: ["POST"], path: new RegExp(`^tasks/${ID}:cancel$`), method: "tasks/cancel", write: taskToRest },
  {
    verbs: ["GET", "POST"],
    path: new RegExp(`^tasks/${ID}:subscribe$`),
    method: "tasks/resubscribe",
    write: answerToRest,
  },
  {
    verbs: ["POST"],
    path: new RegExp(`^${CONFIGS}$`),
    method: "tasks/pushNotificationConfig/set",
    params: ({ id = "" }, { body }) => pushParamsFromRest(id, body),
    write: pushToRest,
  },
  {
    verbs: ["GET"],
    path: new RegExp(`^${CONFIGS}$`),
    method: "tasks/pushNotificationConfig/list",
    write: (result) => ({ configs: Array.isArray(result) ? result.map(pushToRest) : [] }),
  },
  {
    verbs: ["GET"],
    path: new RegExp(`^${CONFIGS}/(?<config>[^/:]+)$`),
    method: "tasks/pushNotificationConfig/get",
    params: oneConfig,
    write: pushToRest,
  },
  {
    verbs: ["DELETE"],
    path: new RegExp(`^${CONFIGS}/(?<config>[^/:]+)$`),
    method: "tasks/pushNotificationConfig/delete",
    params: oneConfig,
    write: () => ({}),
  },
  { verbs: ["GET"], path: /^card$/, method: "agent/getAuthenticatedExtendedCard", write: asIs },
];

/** Finds what a request asks. Throws a `NoOperation` when the path or its verb is none of A2A 0.3. */
export function operationOf(request: RestRequest): Operation {
  const here = PATTERNS.filter(({ path }) => path.test(request.path));
  const pattern = here.find(({ verbs }) => verbs.includes(request.verb));
  if (!pattern)
    throw noOperation(
      request,
      here.flatMap(({ verbs }) => verbs),
    );
  const { method, write, params = (ids) => ({ ...ids }) } = pattern;
  return { method, write, params: params(idsIn(request.path, pattern.path), request) };
}

/** There is nothing at a path, or nothing that is done with this verb. */
export class NoOperation extends JsonRpcFailure {
  constructor(
    message: string,
    /** The verbs that there are; empty when nothing is at the path. */
    readonly verbs: readonly string[],
  ) {
    super(message, JsonRpcCode.METHOD_NOT_FOUND);
  }
}

function noOperation({ verb, path }: RestRequest, verbs: readonly string[]): NoOperation {
  const where = JSON.stringify(`/v1/${path}`);
  if (verbs.length === 0) return new NoOperation(`path ${where} is none of A2A 0.3: see its section 3.5.3`, verbs);
  return new NoOperation(`${verb} ${where} does not exist: use ${verbs.join(" or ")}`, verbs);
}

function idsIn(path: string, pattern: RegExp): Record<string, string> {
  const groups = Object.entries(pattern.exec(path)?.groups ?? {});
  return Object.fromEntries(groups.map(([name, value]) => [name, decoded(value)]));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new JsonRpcFailure(`id ${JSON.stringify(text)} is not encoded as a URL has it`, JsonRpcCode.INVALID_PARAMS);
  }
}

function historyLengthIn(query: URLSearchParams): JsonObject {
  const historyLength = query.get("historyLength") ?? query.get("history_length");
  return historyLength === null || historyLength === "" ? {} : { historyLength };
}
