import {
  defined,
  isObject,
  listOrEmpty,
  objectOrEmpty,
  parseJsonOrUndefined,
  stringOrEmpty,
} from "@devtool/internal/json";
import { WireError } from "../../wire-error.ts";
import { answerFromRest, answerToRest } from "./answer.ts";
import {
  type OperationOutline,
  operationFrom,
  type ParamsForm,
  type RestOperation,
  type ResultForm,
} from "./operation.ts";
import {
  pushFromRest,
  pushListFromRest,
  pushListToRest,
  pushParamsFromRest,
  pushParamsToRest,
  pushToRest,
} from "./push-config.ts";
import { sendParamsFromRest, sendParamsToRest } from "./send-params.ts";
import { taskFromRest, taskToRest } from "./task.ts";

const IDS: ParamsForm = { decode: (ids) => ids };
const SEND: ParamsForm = {
  decode: (_ids, { body }) => sendParamsFromRest(body),
  body: sendParamsToRest,
};
const BODY: ParamsForm = {
  decode: (_ids, { body }) => body,
  body: (params) => params,
};
const HISTORY: ParamsForm = {
  decode: (ids, { query }) => {
    const historyLength =
      query.get("historyLength") ?? query.get("history_length");
    return defined({ ...ids, historyLength });
  },
  query: ({ historyLength }) =>
    historyLength === undefined
      ? ""
      : `?historyLength=${String(historyLength)}`,
};
/**
 * The body is the whole request, as the SDKs for 0.3 read it. The annotation in
 * the proto asks for the config alone, as the JavaScript SDK for 1.0 reads it.
 */
const PUSH_PARAMS: ParamsForm = {
  decode: ({ taskId }, { body }) =>
    pushParamsFromRest(stringOrEmpty(taskId), body),
  body: pushParamsToRest,
  otherBody: (params) => objectOrEmpty(pushParamsToRest(params).config),
};

/** Parameters in the query, `metadata` as JSON. Empty ones are omitted. */
const QUERY: ParamsForm = {
  decode: (_ids, { query }) => {
    const metadata = query.get("metadata");
    // What is not JSON stays text, which whoever reads it refuses by its name.
    const decoded =
      metadata === undefined
        ? {}
        : { metadata: parseJsonOrUndefined(metadata) ?? metadata };
    return { ...Object.fromEntries(query), ...decoded };
  },
  query: (params) => {
    const words = Object.entries(params).flatMap(([name, value]) => {
      const text = isObject(value)
        ? JSON.stringify(value)
        : String(value ?? "");
      return text === "" ? [] : `${name}=${encodeURIComponent(text)}`;
    });
    return words.length === 0 ? "" : `?${words.join("&")}`;
  },
};

const ANSWER: ResultForm = { encode: answerToRest, decode: answerFromRest };
const TASK: ResultForm = { encode: taskToRest, decode: taskFromRest };
const PUSH: ResultForm = { encode: pushToRest, decode: pushFromRest };
const PUSH_LIST: ResultForm = {
  encode: pushListToRest,
  decode: pushListFromRest,
};
const TASK_LIST: ResultForm = {
  encode: (json) => ({
    ...objectOrEmpty(json),
    tasks: listOrEmpty(objectOrEmpty(json).tasks).map(taskToRest),
  }),
  decode: (json) => ({
    ...objectOrEmpty(json),
    tasks: listOrEmpty(objectOrEmpty(json).tasks).map(taskFromRest),
  }),
};
/**
 * The start of a command, as in the RFC; in a stream, the updates of its task
 * follow.
 */
const COMMAND: ResultForm = {
  encode: (json) => ("kind" in objectOrEmpty(json) ? answerToRest(json) : json),
  // The status of a start is a string; the status of an update is an object.
  decode: (json) =>
    typeof objectOrEmpty(json).status === "string"
      ? json
      : answerFromRest(json),
};
const NOTHING: ResultForm = { encode: () => ({}), decode: () => null };
const AS_IS: ResultForm = {
  encode: (result) => result,
  decode: (json) => json,
};

const PUSH_METHOD = "tasks/pushNotificationConfig";
const PUSHES = "tasks/{id}/pushNotificationConfigs";
const ONE_PUSH = `${PUSHES}/{pushNotificationConfigId}`;

const OUTLINES: readonly OperationOutline[] = [
  ["message/send", ["POST"], "message:send", SEND, ANSWER],
  ["message/stream", ["POST"], "message:stream", SEND, ANSWER],
  ["message/withdraw", ["POST"], "message:withdraw", BODY, TASK],
  ["tasks/list", ["GET"], "tasks", QUERY, TASK_LIST],
  ["tasks/get", ["GET"], "tasks/{id}", HISTORY, TASK],
  ["tasks/cancel", ["POST"], "tasks/{id}:cancel", IDS, TASK],
  ["tasks/resubscribe", ["GET", "POST"], "tasks/{id}:subscribe", IDS, ANSWER],
  [
    `${PUSH_METHOD}/set`,
    ["POST"],
    "tasks/{taskId}/pushNotificationConfigs",
    PUSH_PARAMS,
    PUSH,
  ],
  [`${PUSH_METHOD}/list`, ["GET"], PUSHES, IDS, PUSH_LIST],
  [`${PUSH_METHOD}/get`, ["GET"], ONE_PUSH, IDS, PUSH],
  [`${PUSH_METHOD}/delete`, ["DELETE"], ONE_PUSH, IDS, NOTHING],
  ["agent/getAuthenticatedExtendedCard", ["GET"], "card", IDS, AS_IS],
  ["commands/get", ["GET"], "commands", QUERY, AS_IS],
  ["command/execute", ["POST"], "commands:execute", BODY, COMMAND],
];

/**
 * The operations of A2A 0.3, with the paths of section 3.5.3 and those that its
 * SDKs add.
 */
export const REST_OPERATIONS: readonly RestOperation[] =
  OUTLINES.map(operationFrom);

/**
 * Returns the operation of a JSON-RPC method. Throws a `WireError` if the
 * method has no path.
 */
export function restOperation(method: string): RestOperation {
  const operation = REST_OPERATIONS.find((item) => item.method === method);
  if (!operation) {
    throw new WireError(
      "method",
      method,
      "has no path in the HTTP+JSON binding of A2A 0.3",
    );
  }
  return operation;
}
