import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { quoteInexactNumbers } from "@devtool/internal/exact-json";
import {
  defined,
  isObject,
  objectOrEmpty,
  parseJsonOrUndefined,
  stringOrEmpty,
} from "@devtool/internal/json";
import { markLongIds } from "@devtool/internal/long-ids";
import { shortMessage } from "./describe-error.ts";
import { LIST_KINDS, type ListKind, listOf, readItems } from "./list-items.ts";
import {
  findProblem,
  type SpecSchemas,
  showJson,
  TOO_DEEP,
  withoutNulls,
  withoutNullsBelow,
} from "./message-problem.ts";
import { readBlocks, readContents, readMessages } from "./readable-content.ts";
import { readParams } from "./readable-params.ts";
import { TASKS_EXTENSION } from "./task-call.ts";

/** What is used of the SDK to read messages. */
export interface ReaderSdk {
  readonly specTypeSchemas: SpecSchemas;
  readonly SUPPORTED_PROTOCOL_VERSIONS: readonly string[];
}

/** Receives what was left out of a list of the server, with the reason. */
export type OnLeftOut = (list: ListKind, text: string) => void;

/** The maximum number of pages of a list that are read. */
export const MAX_PAGES = 512;

/** The key in a request's `_meta` by which the protocol of 2026 is known. */
const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";

const INTERNAL_ERROR = -32603;
/** The error of 2026 for a request in a revision that the server does not speak. */
const UNSUPPORTED_PROTOCOL_VERSION = -32022;

/** Servers on Windows may begin their output with one. */
const BYTE_ORDER_MARK = /^\ufeff/;

/** The deepest nesting of a message: what is deeper becomes a text. */
const MAX_DEPTH = 64;

/** What a server may ask for in an answer, and its type. */
const ASKED_TYPES: ReadonlyMap<string, keyof SpecSchemas> = new Map([
  ["elicitation/create", "ElicitRequest"],
  ["sampling/createMessage", "CreateMessageRequest"],
  ["roots/list", "ListRootsRequest"],
]);

/** What servers write for false, in JSON. */
const NO = /^("?(false|0|no|null)"?|"")$/i;

/** A request that has no answer yet. */
interface OpenRequest {
  readonly id: JsonValue;
  readonly method: string;
  readonly params: JsonObject;
  /** The id of the newest event of its stream. */
  lastEvent?: string;
}

/**
 * Reads the messages of a server before the SDK does, which refuses a whole
 * message for one field that is not valid, and drops what is not a message.
 *
 * What is valid stays as it is, and null is absent. Elements of lists and of
 * content that are not valid are left out and named. An answer that cannot be
 * used becomes an error, so that its request ends.
 */
export class MessageReader {
  readonly #sdk: ReaderSdk;
  readonly #onLeftOut: OnLeftOut;
  readonly #onList: (list: ListKind) => void;
  /** The requests that have no answer yet, by their ids as text. */
  readonly #open = new Map<string, OpenRequest>();
  /** The page of each list that was last asked for, from 1. */
  readonly #pages = new Map<string, number>();
  /** The names on the pages of each list that have been read. */
  readonly #names = new Map<string, Set<JsonValue | undefined>>();
  #isLateModern = false;

  /** @param onList is called when the server is asked for a whole list */
  constructor(
    sdk: ReaderSdk,
    onLeftOut: OnLeftOut,
    onList: (list: ListKind) => void,
  ) {
    this.#sdk = sdk;
    this.#onLeftOut = onLeftOut;
    this.#onList = onList;
  }

  /**
   * Whether the server speaks the protocol of 2026, and said so only after it
   * was asked to begin with that of 2025.
   */
  get isLateModern(): boolean {
    return this.#isLateModern;
  }

  /**
   * Notes a message before it is sent. Returns it with its error in one line:
   * the SDK reports what its validator says about requests.
   */
  send(message: JsonObject): JsonObject {
    const { id, method, params, error } = message;
    if (typeof method === "string" && id !== undefined) {
      this.#open.set(String(id), { id, method, params: objectOrEmpty(params) });
      const isFirst = objectOrEmpty(params).cursor === undefined;
      const page = isFirst ? 1 : (this.#pages.get(method) ?? 1) + 1;
      this.#pages.set(method, page);
      const list = listOf(method);
      if (list && isFirst) this.#onList(list);
    }
    if (method === "notifications/cancelled") {
      this.#open.delete(String(objectOrEmpty(params).requestId));
    }
    if (!isObject(error)) return message;
    const text = shortMessage(stringOrEmpty(error.message));
    return { ...message, error: { ...error, message: text } };
  }

  /** Reads a message, or a list of messages, as text. */
  readText(text: string): JsonObject[] {
    const value = parseMessage(text.replace(BYTE_ORDER_MARK, ""));
    return value === undefined ? this.failText(text) : this.read(value);
  }

  /**
   * Returns the error that ends the request that a text answers in broken JSON;
   * none when it answers none.
   */
  failText(text: string): JsonObject[] {
    const id = text.includes('"method"')
      ? undefined
      : /"id"\s*:\s*"?([\w-]+)/.exec(text)?.[1];
    return this.fail(id, `it is not JSON: ${showJson(text.slice(0, 80))}`);
  }

  /** Reads a message, or a list of messages, without what is not one. */
  read(value: JsonValue): JsonObject[] {
    if (Array.isArray(value)) return value.flatMap((each) => this.read(each));
    if (!isObject(value)) return [];
    const { id = null, method = null, params, result, error } = value;
    if (typeof method === "string") {
      const read = readParams(this.#sdk.specTypeSchemas, method, params);
      const asked = { jsonrpc: "2.0", method, params: read };
      if (id === null) return [asked];
      // Nobody can be answered by another id.
      const isId = typeof id === "string" || Number.isSafeInteger(id);
      return isId ? [{ ...asked, id }] : [];
    }
    const isAnswer = result !== undefined || error !== undefined;
    const isEmpty = method === null && params === undefined;
    const open = isAnswer
      ? this.#openRequest(id)
      : isEmpty && this.#open.get(String(id));
    if (!open) return [];
    this.#open.delete(String(open.id));
    if (error !== undefined && error !== null) {
      return [this.#readError(open, error)];
    }
    if (!isObject(result)) {
      const message = `invalid answer: its result is ${showJson(result)}`;
      return [this.#readError(open, { message })];
    }
    const problem = this.#handshakeProblem(open.method, result);
    return [
      problem === undefined
        ? this.#answer(open, this.#readResult(open, withoutNulls(result)))
        : this.#invalid(open, problem),
    ];
  }

  /**
   * Returns the error that ends a request whose answer cannot be read; none
   * when it has ended.
   */
  fail(id: JsonValue | undefined, problem: string): JsonObject[] {
    const open = this.#open.get(String(id));
    this.#open.delete(String(id));
    return open ? [this.#invalid(open, problem)] : [];
  }

  /** Notes the newest event of the stream that answers a request. */
  noteEvent(id: JsonValue | undefined, event: string): void {
    const open = this.#open.get(String(id));
    if (open) open.lastEvent = event;
  }

  /** Returns the id of the open request whose stream ended with an event. */
  findByEvent(event: string | null): JsonValue | undefined {
    return [...this.#open.values()].find(
      ({ lastEvent }) => lastEvent !== undefined && lastEvent === event,
    )?.id;
  }

  /**
   * Returns the request that an id belongs to. No id of this client is that of
   * the only open request: its server could not read it.
   */
  #openRequest(id: JsonValue): OpenRequest | undefined {
    const open = this.#open.get(String(id));
    // The protocol of 2026 has one that stays open.
    const [only, ...others] = [...this.#open.values()].filter(
      ({ method }) => method !== "subscriptions/listen",
    );
    const isOwn = /^\d+$/.test(String(id));
    return open ?? (isOwn || others.length > 0 ? undefined : only);
  }

  #answer(open: OpenRequest, result: JsonObject): JsonObject {
    const { id, method, params } = open;
    const isModern = VERSION_KEY in objectOrEmpty(params._meta);
    if (!isModern || method === "initialize") {
      return { jsonrpc: "2.0", id, result };
    }
    // The protocol of 2026 requires these, and the SDK insists on them.
    const { ttlMs, cacheScope } = result;
    const isTask = method === "tasks/get";
    const resultType = isTask ? "complete" : resultKind(result);
    const problems: string[] = [];
    const asked =
      isTask || resultType === "input_required"
        ? this.#readAsked(objectOrEmpty(result.inputRequests), problems)
        : {};
    if (problems.length > 0 && Object.keys(asked).length === 0) {
      return this.#invalid(open, problems.join("; "));
    }
    for (const problem of problems) this.#onLeftOut("tools", problem);
    const isPublic = cacheScope === "public";
    return {
      jsonrpc: "2.0",
      id,
      result: {
        ...result,
        inputRequests: asked,
        resultType,
        ttlMs:
          Number.isSafeInteger(ttlMs) && Number(ttlMs) >= 0 ? Number(ttlMs) : 0,
        cacheScope: isPublic ? "public" : "private",
      },
    };
  }

  /** Reads what an answer asks for. Adds to `problems` what cannot be asked. */
  #readAsked(requests: JsonObject, problems: string[]): JsonObject {
    const schemas = this.#sdk.specTypeSchemas;
    return Object.fromEntries(
      Object.entries(requests).flatMap(([key, request]) => {
        const asked = objectOrEmpty(request);
        const method = stringOrEmpty(asked.method);
        const type = ASKED_TYPES.get(method);
        const params = readParams(schemas, method, asked.params);
        const problem = type
          ? findProblem(schemas, type, { method, params })
          : `it is ${showJson(request)}`;
        if (problem === undefined) return [[key, { method, params }] as const];
        problems.push(`request ${showJson(key)} is left out: ${problem}`);
        return [];
      }),
    );
  }

  #invalid({ id }: OpenRequest, problem: string): JsonObject {
    const message = `invalid answer: ${problem}`;
    return { jsonrpc: "2.0", id, error: { code: INTERNAL_ERROR, message } };
  }

  /** Reads an error. That of a later page of a list costs only that page. */
  #readError(open: OpenRequest, error: JsonValue): JsonObject {
    const { id, method, params } = open;
    const { code, message, data } = objectOrEmpty(error);
    const isValid = typeof message === "string";
    const list = listOf(method);
    if (list && params.cursor !== undefined) {
      const why = isValid ? shortMessage(message) : showJson(error);
      const page = `page ${this.#pages.get(method)} and further ones`;
      this.#onLeftOut(list, `${page} are left out: ${why}`);
      return this.#answer(open, { [list]: [] });
    }
    if (!isValid) return this.#invalid(open, `its error is ${showJson(error)}`);
    const known = Number.isSafeInteger(code) ? Number(code) : INTERNAL_ERROR;
    this.#isLateModern ||=
      method === "initialize" && known === UNSUPPORTED_PROTOCOL_VERSION;
    const read: JsonObject = { code: known, message };
    if (data !== undefined) read.data = data;
    return { jsonrpc: "2.0", id, error: read };
  }

  /** Returns why a server cannot be used after what it said first. */
  #handshakeProblem(method: string, result: JsonObject): string | undefined {
    if (method !== "initialize") return undefined;
    const { specTypeSchemas, SUPPORTED_PROTOCOL_VERSIONS } = this.#sdk;
    const whole = readHandshake(result);
    const problem = findProblem(specTypeSchemas, "InitializeResult", whole);
    if (problem !== undefined) return problem;
    const version = stringOrEmpty(result.protocolVersion);
    return SUPPORTED_PROTOCOL_VERSIONS.includes(version)
      ? undefined
      : `it offers protocol ${showJson(version)}, this client speaks ${SUPPORTED_PROTOCOL_VERSIONS.join(", ")}`;
  }

  #readResult({ method, params }: OpenRequest, result: JsonObject): JsonObject {
    const { specTypeSchemas: schemas } = this.#sdk;
    if (!isObject(result._meta)) delete result._meta;
    const list = listOf(method);
    if (list) return this.#readList(method, list, result);
    switch (method) {
      case "initialize":
        return readHandshake(result);
      case "server/discover":
        this.#isLateModern ||= this.#pages.has("initialize");
        return readDiscovery(result);
      case "tools/call":
        return result.resultType === "task"
          ? { content: [], _meta: { [TASKS_EXTENSION]: result } }
          : readCallResult(schemas, result);
      case "tasks/get":
        return isObject(result.result)
          ? { ...result, result: readCallResult(schemas, result.result) }
          : result;
      case "prompts/get": {
        const { description: _unused, ...rest } = result;
        const messages = readMessages(schemas, result.messages);
        // A message of a prompt has one block.
        const single = messages.flatMap(({ role, content }) =>
          content.map((block) => ({ role, content: block })),
        );
        return { ...rest, messages: single };
      }
      case "resources/read":
        return {
          ...result,
          contents: readContents(schemas, result.contents, params.uri),
        };
      default:
        return result;
    }
  }

  #readList(method: string, list: ListKind, result: JsonObject): JsonObject {
    const leaveOut = (text: string): void => this.#onLeftOut(list, text);
    const { nextCursor, ...rest } = result;
    const { specTypeSchemas: schemas } = this.#sdk;
    const before =
      this.#pages.get(method) === 1 ? undefined : this.#names.get(method);
    const names = before ?? new Set();
    this.#names.set(method, names);
    const page = {
      ...rest,
      [list]: readItems(schemas, list, result[list], names, leaveOut),
    };
    if (nextCursor === undefined) return page;
    if (typeof nextCursor !== "string") {
      leaveOut(
        `further pages are left out: nextCursor is ${showJson(nextCursor)}`,
      );
      return page;
    }
    if ((this.#pages.get(method) ?? 1) < MAX_PAGES) {
      return { ...page, nextCursor };
    }
    leaveOut(`further pages are left out: only ${MAX_PAGES} are read`);
    return page;
  }
}

/**
 * Parses the text of a message; undefined for text that is not JSON. No text in
 * it has half a surrogate pair.
 */
export function parseMessage(text: string): JsonValue | undefined {
  // The fields with data, which keeps the digits of its numbers. The protocol's
  // own numbers stay numbers.
  const data = new Set(["structuredContent"]);
  // These hold data only in prompts and in forms: elsewhere they may be part of
  // a schema.
  if (text.includes('"sampling/createMessage"')) data.add("input");
  if (text.includes('"elicitation/create"')) data.add("default").add("enum");
  const exact = quoteInexactNumbers(text, data);
  const value = parseJsonOrUndefined(markLongIds(exact));
  return value === undefined ? undefined : readable(value, MAX_DEPTH);
}

function readable(value: JsonValue, maxDepth: number): JsonValue {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (maxDepth === 0) return TOO_DEEP;
  if (Array.isArray(value)) {
    return value.map((each) => readable(each, maxDepth - 1));
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name.toWellFormed(),
      readable(field, maxDepth - 1),
    ]),
  );
}

/** Reads what a server says first: only what is used may cost the server. */
function readHandshake(result: JsonObject): JsonObject {
  const whole = objectOrEmpty(withoutNullsBelow(result));
  const { protocolVersion, capabilities, serverInfo, instructions } = whole;
  const read: JsonObject = defined({ protocolVersion });
  if (typeof instructions === "string") read.instructions = instructions;
  if (isObject(capabilities)) {
    // A server that says something has the lists, and may say that they change.
    const lists = LIST_KINDS.filter(
      (list) => (capabilities[list] ?? false) !== false,
    );
    read.capabilities = Object.fromEntries(
      lists.map((list) => [
        list,
        { listChanged: true, ...subscribing(capabilities[list]) },
      ]),
    );
  }
  if (isObject(serverInfo)) {
    const { name, version } = serverInfo;
    const isNumber = typeof version === "number";
    read.serverInfo = defined({
      name,
      version: isNumber ? String(version) : version,
    });
  }
  return read;
}

/** Whether a client may subscribe to single elements of a list. */
function subscribing(said: JsonValue | undefined): JsonObject {
  const { subscribe } = objectOrEmpty(said);
  return subscribe === true ? { subscribe } : {};
}

/** Reads what a server of 2026 says first, as `readHandshake` does. */
function readDiscovery(result: JsonObject): JsonObject {
  const { capabilities, ...read } = readHandshake(result);
  const lists = Object.keys(objectOrEmpty(capabilities)).map((list) => {
    const said = objectOrEmpty(objectOrEmpty(result.capabilities)[list]);
    // The SDK subscribes to these, which not every server supports.
    const listChanged = isYes(said.listChanged ?? false);
    return [list, { listChanged, ...subscribing(said) }] as const;
  });
  return {
    ...read,
    ...(capabilities && { capabilities: Object.fromEntries(lists) }),
    supportedVersions: [result.supportedVersions ?? []]
      .flat()
      .filter((version) => typeof version === "string"),
  };
}

/** Returns the kind of an answer. Without a text, its content tells. */
function resultKind({ resultType, inputRequests }: JsonObject): string {
  if (typeof resultType === "string") return resultType;
  return isObject(inputRequests) ? "input_required" : "complete";
}

function isYes(value: JsonValue): boolean {
  return !NO.test(JSON.stringify(value));
}

/**
 * Reads the result of a tool call: its content as far as it is valid, and what
 * the tool says about its success.
 */
function readCallResult(schemas: SpecSchemas, result: JsonObject): JsonObject {
  const { isError, structuredContent: data, ...rest } = result;
  const read: JsonObject = {
    ...rest,
    content: readBlocks(schemas, result.content),
    isError: isYes(isError ?? false),
  };
  if (data === undefined) return read;
  return {
    ...read,
    structuredContent: isObject(data) ? data : { value: data },
  };
}
