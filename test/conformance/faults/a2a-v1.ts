import {
  anotherError,
  answers,
  type Fault,
  fault,
  letAllIn,
  onCard,
  plainAnswers,
  requests,
  taskComesSecond,
} from "./fault.ts";

/** The faults of a server that speaks A2A 1.0. */
export const A2A_1: readonly Fault[] = [
  fault(
    "A2A1-CARD",
    "the card lacks its output modes",
    onCard((text) => text.replace("defaultOutputModes", "outputModes")),
  ),
  fault("A2A1-CARD-CACHE", "the card has no ETag", {
    head: ({ headers: { etag: _etag, ...headers } }) => ({ headers }),
  }),
  fault("A2A1-AUTH", "nobody needs to say who they are", letAllIn("GetTask")),
  fault("A2A1-VERSION", "every version is taken", {
    request: ({ headers }) =>
      headers["a2a-version"] === "99.0" ? { headers: { ...headers, "a2a-version": "1.0" } } : undefined,
  }),
  fault(
    "A2A1-JSON",
    "times are not in UTC",
    answers((text) => text.replaceAll(/("timestamp":"[^"]+)Z"/g, '$1+00:00"')),
  ),
  fault(
    "A2A1-JSON-READ",
    "fields that are not known are refused",
    requests((body) => body.replace('"anotherField":1', '"taskId":{}')),
  ),
  fault("A2A1-CONTENT-TYPE", "answers are of no type", {
    head: ({ headers }, { method }) =>
      method === "POST" && headers["content-type"]?.includes("json")
        ? { headers: { ...headers, "content-type": "application/octet-stream" } }
        : undefined,
  }),
  fault(
    "A2A1-JSONRPC",
    "ids come back as strings",
    answers((text) => text.replaceAll('"id":1,', '"id":"1",')),
  ),
  fault(
    "A2A1-ERROR-INFO",
    "errors have another domain",
    answers((text) => text.replaceAll("a2a-protocol.org", "example.com")),
  ),
  {
    ...fault("A2A1-HTTP-STATUS", "what is not there is a bad request", {
      head: ({ status }) => ({ status: status === 404 ? 400 : status }),
    }),
    binding: "HTTP+JSON",
  },
  fault(
    "A2A1-INVALID",
    "a message needs no id",
    requests((body) => body.replace('"message":{"role"', '"message":{"messageId":"made-up","role"')),
  ),
  fault(
    "A2A1-SEND",
    "the answer comes before the end",
    plainAnswers("SendMessage", (text, { body }) =>
      /taskId|returnImmediately/.test(body) ? text : text.replaceAll("TASK_STATE_COMPLETED", "TASK_STATE_WORKING"),
    ),
  ),
  fault(
    "A2A1-RETURN-IMMEDIATELY",
    "the task that is at work is said to have ended",
    plainAnswers("SendMessage", (text, { body }) =>
      body.includes("returnImmediately")
        ? text.replaceAll(/TASK_STATE_(SUBMITTED|WORKING)/g, "TASK_STATE_COMPLETED")
        : text,
    ),
  ),
  fault(
    "A2A1-HISTORY",
    "the history is always whole",
    requests((body) => (body.includes("selected_option_id") ? body : body.replace(/"historyLength":-?\d+/, '"x":0'))),
  ),
  fault("A2A1-STREAM-ORDER", "a stream begins with a status", taskComesSecond),
  fault(
    "A2A1-STREAM-END",
    "a stream does not tell of the end",
    plainAnswers("SendStreamingMessage", (text, { body }) =>
      body.includes("text hello") ? text.replaceAll("TASK_STATE_COMPLETED", "TASK_STATE_WORKING") : text,
    ),
  ),
  fault("A2A1-GET", "a task that is not there has another error", plainAnswers("GetTask", anotherError)),
  fault(
    "A2A1-LIST",
    "tasks in every state are listed",
    requests((body) => body.replace('"status":"TASK_STATE_FAILED"', '"x":0')),
  ),
  fault(
    "A2A1-LIST-PAGES",
    "a page may have any size",
    requests((body) => body.replace('"pageSize":101', '"pageSize":100')),
  ),
  fault(
    "A2A1-CANCEL",
    "a canceled task is still at work",
    plainAnswers("CancelTask", (text) => text.replace("TASK_STATE_CANCELED", "TASK_STATE_WORKING")),
  ),
  fault("A2A1-SUBSCRIBE", "a task that is not there has another error", plainAnswers("SubscribeToTask", anotherError)),
  fault(
    "A2A1-MULTI-TURN",
    "a task takes messages of another context",
    requests((body) => body.replace(',"contextId":"another-context"', "")),
  ),
  fault(
    "A2A1-PUSH-CONFIG",
    "configs are listed under other ids",
    plainAnswers("ListTaskPushNotificationConfigs", (text) => text.replace('"id":"one"', '"id":"uno"')),
  ),
  fault(
    "A2A1-NOT-OFFERED",
    "notifications are taken that the card does not offer",
    onCard((text) => text.replace('"pushNotifications":true', '"pushNotifications":false')),
  ),
  fault(
    "A2A1-EXTENDED-CARD",
    "the extended card cannot be had",
    requests((body) => body.replace('"method":"GetExtendedAgentCard"', '"method":"GetTask"')),
  ),
  fault(
    "A2A1-TENANT",
    "tasks do not stay in their tenant",
    requests((body) =>
      body.includes('"method":"GetTask"') ? body.replace('"tenant":"conformance"', '"tenant":""') : body,
    ),
  ),
  fault(
    "A2A1-TENANT-SCOPE",
    "tenants see each other's tasks",
    requests((body) => body.replace('"tenant":"another"', '"tenant":"conformance"')),
  ),
];
