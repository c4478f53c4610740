import {
  changeAnswers,
  changeCard,
  changePlainAnswers,
  changeRequests,
  type Fault,
  fault,
  swapFirstEvents,
  withoutAuthentication,
  withUnsupportedOperation,
} from "./fault.ts";

/** Faults of A2A 1.0 itself. */
export const A2A_1: readonly Fault[] = [
  fault(
    "A2A1-CARD",
    "the card has no output modes",
    changeCard((text) => text.replace("defaultOutputModes", "outputModes")),
  ),
  fault("A2A1-CARD-CACHE", "the card has no ETag", {
    head: ({ headers: { etag: _etag, ...headers } }) => ({ headers }),
  }),
  fault(
    "A2A1-AUTH",
    "requests need no credentials",
    withoutAuthentication("SendMessage"),
  ),
  fault("A2A1-AUTH-CHALLENGE", "refusals do not say how to authenticate", {
    head: ({ headers: { "www-authenticate": _challenge, ...headers } }) => ({
      headers,
    }),
  }),
  fault("A2A1-VERSION", "every version is accepted", {
    request: ({ headers }) =>
      headers["a2a-version"] === "99.0"
        ? { headers: { ...headers, "a2a-version": "1.0" } }
        : undefined,
  }),
  fault(
    "A2A1-JSON",
    "times are not in UTC",
    changeAnswers((text) =>
      text.replaceAll(/("timestamp":"[^"]+)Z"/g, '$1+00:00"'),
    ),
  ),
  fault(
    "A2A1-JSON-READ",
    "unknown fields are refused",
    changeRequests((body) => body.replace('"anotherField":1', '"taskId":{}')),
  ),
  fault("A2A1-CONTENT-TYPE", "answers have the wrong content type", {
    head: ({ headers }, { method }) =>
      method === "POST" && headers["content-type"]?.includes("json")
        ? {
            headers: { ...headers, "content-type": "application/octet-stream" },
          }
        : undefined,
  }),
  fault(
    "A2A1-JSONRPC",
    "ids are returned as strings",
    changeAnswers((text) => text.replaceAll('"id":1,', '"id":"1",')),
  ),
  fault(
    "A2A1-ERROR-INFO",
    "errors have another domain",
    changeAnswers((text) => text.replaceAll("a2a-protocol.org", "example.com")),
  ),
  {
    ...fault("A2A1-HTTP-STATUS", "not found is a bad request", {
      head: ({ status }) => ({ status: status === 404 ? 400 : status }),
    }),
    binding: "HTTP+JSON",
  },
  fault(
    "A2A1-INVALID",
    "a text is read as a list of parts",
    changeRequests((body) =>
      body.replace('"parts":"x"', '"parts":[{"text":"text hello"}]'),
    ),
  ),
  fault(
    "A2A1-REQUIRED",
    "a message needs no id",
    changeRequests((body) =>
      body.includes('"messageId"')
        ? body
        : body.replace(
            '"message":{"role"',
            '"message":{"messageId":"made-up","role"',
          ),
    ),
  ),
  fault(
    "A2A1-SEND",
    "the answer is sent before the task has ended",
    changePlainAnswers("SendMessage", (text, { body }) =>
      /taskId|returnImmediately/.test(body)
        ? text
        : text.replaceAll("TASK_STATE_COMPLETED", "TASK_STATE_WORKING"),
    ),
    // Its case waits for the end of a task in this way.
    ["STREAM-10"],
  ),
  fault(
    "A2A1-RETURN-IMMEDIATELY",
    "a running task is reported as ended",
    changePlainAnswers("SendMessage", (text, { body }) =>
      body.includes("returnImmediately")
        ? text.replaceAll(
            /TASK_STATE_(SUBMITTED|WORKING)/g,
            "TASK_STATE_COMPLETED",
          )
        : text,
    ),
  ),
  fault(
    "A2A1-HISTORY",
    "the history is always complete",
    changeRequests((body) =>
      body.includes("selected_option_id")
        ? body
        : body.replace(/"historyLength":-?\d+/, '"x":0'),
    ),
  ),
  fault("A2A1-STREAM-ORDER", "a stream starts with a status", swapFirstEvents),
  fault(
    "A2A1-STREAM-END",
    "a stream does not report the end of its task",
    changePlainAnswers("SendStreamingMessage", (text, { body }) =>
      body.includes("text hello")
        ? text.replaceAll("TASK_STATE_COMPLETED", "TASK_STATE_WORKING")
        : text,
    ),
    ["STREAM-10"],
  ),
  fault(
    "A2A1-STREAM-PAUSE",
    "a stream reports another reason why its task waits",
    changePlainAnswers("SendStreamingMessage", (text, { body }) =>
      body.includes("echo asked")
        ? text.replaceAll(
            "TASK_STATE_INPUT_REQUIRED",
            "TASK_STATE_AUTH_REQUIRED",
          )
        : text,
    ),
    ["CARD-3"],
  ),
  fault(
    "A2A1-GET",
    "an unknown task gets another error",
    changePlainAnswers("GetTask", withUnsupportedOperation),
  ),
  fault(
    "A2A1-LIST",
    "tasks in every state are listed",
    changeRequests((body) =>
      body.replace('"status":"TASK_STATE_FAILED"', '"x":0'),
    ),
  ),
  fault(
    "A2A1-LIST-PAGES",
    "a page may have any size",
    changeRequests((body) => body.replace('"pageSize":101', '"pageSize":100')),
  ),
  fault(
    "A2A1-CANCEL",
    "a canceled task is still running",
    changePlainAnswers("CancelTask", (text) =>
      text.replace("TASK_STATE_CANCELED", "TASK_STATE_WORKING"),
    ),
  ),
  fault(
    "A2A1-SUBSCRIBE",
    "an unknown task gets another error",
    changePlainAnswers("SubscribeToTask", withUnsupportedOperation),
  ),
  fault(
    "A2A1-MULTI-TURN",
    "a task accepts messages of another context",
    changeRequests((body) =>
      body.replace(',"contextId":"another-context"', ""),
    ),
  ),
  fault(
    "A2A1-PUSH-CONFIG",
    "configs are listed under other ids",
    changePlainAnswers("ListTaskPushNotificationConfigs", (text) =>
      text.replace('"id":"one"', '"id":"uno"'),
    ),
  ),
  fault(
    "A2A1-NOT-OFFERED",
    "notifications are accepted although the card does not offer them",
    changeCard((text) =>
      text.replace('"pushNotifications":true', '"pushNotifications":false'),
    ),
  ),
  fault(
    "A2A1-EXTENDED-CARD",
    "the extended card is not served",
    changeRequests((body) =>
      body.replace('"method":"GetExtendedAgentCard"', '"method":"GetTask"'),
    ),
  ),
  fault(
    "A2A1-TENANT",
    "tasks do not stay in their tenant",
    changeRequests((body) =>
      body.includes('"method":"GetTask"')
        ? body.replace('"tenant":"conformance"', '"tenant":""')
        : body,
    ),
  ),
  fault(
    "A2A1-TENANT-SCOPE",
    "tenants see each other's tasks",
    changeRequests((body) =>
      body.replace('"tenant":"another"', '"tenant":"conformance"'),
    ),
  ),
];
