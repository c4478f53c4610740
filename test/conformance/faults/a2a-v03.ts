import {
  changeAnswers,
  changeCard,
  changePlainAnswers,
  changeRequests,
  type Fault,
  fault,
  isPlain,
  withoutAuthentication,
  withUnsupportedOperation,
} from "./fault.ts";

/** Faults of A2A 0.3 itself. */
export const A2A_03: readonly Fault[] = [
  fault(
    "A2A03-CARD",
    "the card has no output modes",
    changeCard((text) => text.replace("defaultOutputModes", "outputModes")),
  ),
  fault(
    "A2A03-AUTH",
    "requests need no credentials",
    withoutAuthentication("message/send"),
  ),
  fault(
    "A2A03-AUTH-CHALLENGE",
    "refusals are forbidden",
    { head: ({ status }) => ({ status: status === 401 ? 403 : status }) },
    ["ERR-1"],
  ),
  fault(
    "A2A03-JSONRPC",
    "ids are returned as strings",
    changeAnswers((text) => text.replaceAll('"id":1,', '"id":"1",')),
  ),
  fault(
    "A2A03-INVALID",
    "invalid parameters are an internal error",
    changePlainAnswers("message/send", (text) =>
      text.replace('"code":-32602', '"code":-32603'),
    ),
  ),
  fault(
    "A2A03-SEND",
    "the answer is sent before the task has ended",
    changePlainAnswers("message/send", (text, { body }) =>
      body.includes("taskId") || body.includes("blocking")
        ? text
        : text.replace('"state":"completed"', '"state":"working"'),
    ),
    // Their cases wait for the end of a task in this way.
    ["STREAM-5", "STREAM-7", "STREAM-10"],
  ),
  fault(
    "A2A03-BLOCKING",
    "a running task is reported as ended",
    changePlainAnswers("message/send", (text, { body }) =>
      body.includes('"blocking":false')
        ? text.replace(/"state":"(submitted|working)"/, '"state":"completed"')
        : text,
    ),
  ),
  fault(
    "A2A03-STREAM",
    "a stream does not report the end of its task",
    changePlainAnswers("message/stream", (text, { body }) =>
      body.includes("text hello")
        ? text.replaceAll('"state":"completed"', '"state":"working"')
        : text,
    ),
    ["STREAM-10"],
  ),
  fault(
    "A2A03-GET",
    "an unknown task gets another error",
    changePlainAnswers("tasks/get", withUnsupportedOperation),
  ),
  {
    ...fault("A2A03-GET", "the list of tasks is empty", {
      body: (text, { method, path }) =>
        method === "GET" && path.startsWith("/v1/tasks?")
          ? '{"tasks":[]}'
          : text,
    }),
    binding: "HTTP+JSON",
  },
  fault(
    "A2A03-HISTORY",
    "the history is always complete",
    changeRequests((body) => body.replace(/,"historyLength":-?\d+/, "")),
  ),
  fault(
    "A2A03-CANCEL",
    "a canceled task is still running",
    changePlainAnswers("tasks/cancel", (text) =>
      text.replace('"state":"canceled"', '"state":"working"'),
    ),
  ),
  fault(
    "A2A03-MULTI-TURN",
    "an unknown task is created",
    changeRequests((body) =>
      body.replace(',"taskId":"no-such-task-to-go-on-with"', ""),
    ),
  ),
  fault(
    "A2A03-RESUBSCRIBE",
    "an unknown task gets another error",
    changePlainAnswers("tasks/resubscribe", withUnsupportedOperation),
  ),
  fault(
    "A2A03-PUSH-CONFIG",
    "configs are listed under other ids",
    changePlainAnswers("tasks/pushNotificationConfig/list", (text) =>
      text.replace('"id":"one"', '"id":"uno"'),
    ),
  ),
  {
    ...fault(
      "A2A03-PUSH-CONFIG",
      "configs are listed under other ids over HTTP+JSON",
      {
        body: (text, sent) =>
          sent.method === "GET" &&
          sent.path.endsWith("/pushNotificationConfigs") &&
          isPlain(sent)
            ? text.replace('"id":"one"', '"id":"uno"')
            : text,
      },
    ),
    binding: "HTTP+JSON",
  },
  fault(
    "A2A03-NOT-OFFERED",
    "notifications are accepted although the card does not offer them",
    changeCard((text) =>
      text.replace('"pushNotifications":true', '"pushNotifications":false'),
    ),
  ),
  fault(
    "A2A03-EXTENDED-CARD",
    "the extended card has no version",
    changePlainAnswers("agent/getAuthenticatedExtendedCard", (text) =>
      text.replace('"version":', '"release":'),
    ),
  ),
];
