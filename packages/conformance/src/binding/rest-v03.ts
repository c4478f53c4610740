import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { EXTENSION_URI } from "@devtool/schema";
import { fieldsOf } from "../json-fields.ts";
import { type Answered, type Binding, type Endpoint, errorDocument, resultDocument } from "./binding.ts";
import { type HttpAnswer, headersOf, sendHttp } from "./http.ts";
import { answerResult, configBody, configResult, configsResult, sendBody, taskResult } from "./rest-v03-json.ts";

/** The HTTP+JSON binding of A2A 0.3 (section 3.5.3). */
export function restBindingV03({ url, token }: Endpoint): Binding {
  return {
    name: "HTTP+JSON",
    protocolVersion: "0.3",
    endpoint: url,
    has: (method) => OPERATIONS.has(method),
    async play({ method, params = {}, headers, leaveAfter }, recording, signal) {
      const operation = OPERATIONS.get(method);
      if (!operation) throw new Error(`${method} has no path in HTTP+JSON of A2A 0.3`);
      const body = operation.body?.(params);
      const usual = {
        "x-a2a-extensions": EXTENSION_URI,
        accept: operation.streams ? "text/event-stream" : "application/json",
        ...(body && { "content-type": "application/json" }),
      };
      const request = {
        method: operation.verb,
        url: `${url.replace(/\/+$/, "")}/v1/${operation.path(params)}`,
        headers: headersOf(usual, { token, changes: headers }),
        body: body && JSON.stringify(body),
      };
      return exchangeOf(await sendHttp(request, { recording, leaveAfter }, signal), operation.read);
    },
  };
}

interface Operation {
  readonly verb: string;
  readonly path: (params: JsonObject) => string;
  readonly body?: (params: JsonObject) => JsonObject;
  readonly read: (json: JsonValue) => JsonValue;
  readonly streams?: true;
}

const id = ({ id: name, taskId }: JsonObject): string => encodeURIComponent(String(name ?? taskId ?? ""));
const configs = (params: JsonObject): string => `tasks/${id(params)}/pushNotificationConfigs`;
const config = (params: JsonObject): string =>
  `${configs(params)}/${encodeURIComponent(String(params.pushNotificationConfigId ?? ""))}`;
const history = ({ historyLength }: JsonObject): string =>
  historyLength === undefined ? "" : `?historyLength=${String(historyLength)}`;

const OPERATIONS: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ["message/send", { verb: "POST", path: () => "message:send", body: sendBody, read: answerResult }],
  ["message/stream", { verb: "POST", path: () => "message:stream", body: sendBody, read: answerResult, streams: true }],
  ["tasks/get", { verb: "GET", path: (params) => `tasks/${id(params)}${history(params)}`, read: taskResult }],
  [
    "tasks/cancel",
    { verb: "POST", path: (params) => `tasks/${id(params)}:cancel`, body: () => ({}), read: taskResult },
  ],
  [
    "tasks/resubscribe",
    { verb: "GET", path: (params) => `tasks/${id(params)}:subscribe`, read: answerResult, streams: true },
  ],
  ["tasks/pushNotificationConfig/set", { verb: "POST", path: configs, body: configBody, read: configResult }],
  ["tasks/pushNotificationConfig/get", { verb: "GET", path: config, read: configResult }],
  ["tasks/pushNotificationConfig/list", { verb: "GET", path: configs, read: configsResult }],
  ["tasks/pushNotificationConfig/delete", { verb: "DELETE", path: config, read: () => null }],
  ["agent/getAuthenticatedExtendedCard", { verb: "GET", path: () => "card", read: (json) => json }],
]);

function exchangeOf(answer: HttpAnswer, read: Operation["read"]): Awaited<ReturnType<Binding["play"]>> {
  const { status } = answer;
  if (status === 401 || status === 403 || status === 413) return { ...answer, breaches: [] };
  const isError = status >= 400;
  const documents = answer.documents.map(
    ({ id: event, json }): Answered => ({
      id: event,
      json: isError || isErrorBody(json) ? errorOf(json, status) : resultDocument(read(json)),
    }),
  );
  return { ...answer, status: isError && documents.length > 0 ? 200 : status, documents, breaches: [] };
}

function isErrorBody({ code, message }: JsonObject): boolean {
  return typeof code === "number" && typeof message === "string";
}

/**
 * The error as JSON-RPC has it. Section 3.5.3 leaves its form open: SDKs send the error object of JSON-RPC, the name of the
 * error as `type`, or nothing but the status.
 */
function errorOf(json: JsonObject, status: number): JsonObject {
  const { code, message, type, data } = { ...json, ...fieldsOf(json.error) };
  const told = typeof code === "number" && code < 0 ? code : undefined;
  const meant = told ?? TYPES.get(String(type)) ?? STATUSES.get(status) ?? -32603;
  return errorDocument(meant, String(message ?? ""), data);
}

const TYPES: ReadonlyMap<string, number> = new Map([
  ["InvalidRequestError", -32600],
  ["MethodNotFoundError", -32601],
  ["InvalidParamsError", -32602],
  ["TaskNotFoundError", -32001],
  ["TaskNotCancelableError", -32002],
  ["PushNotificationNotSupportedError", -32003],
  ["UnsupportedOperationError", -32004],
  ["ContentTypeNotSupportedError", -32005],
]);

const STATUSES: ReadonlyMap<number, number> = new Map([
  [400, -32602],
  [404, -32001],
  [409, -32002],
  [501, -32004],
]);
