import {
  anotherError,
  answers,
  type Fault,
  fault,
  isPlain,
  letAllIn,
  onCard,
  plainAnswers,
  requests,
} from "./fault.ts";

/** The faults of a server that speaks A2A 0.3. */
export const A2A_03: readonly Fault[] = [
  fault(
    "A2A03-CARD",
    "the card lacks its output modes",
    onCard((text) => text.replace("defaultOutputModes", "outputModes")),
  ),
  fault("A2A03-AUTH", "nobody needs to say who they are", letAllIn("tasks/get")),
  fault(
    "A2A03-JSONRPC",
    "ids come back as strings",
    answers((text) => text.replaceAll('"id":1,', '"id":"1",')),
  ),
  fault(
    "A2A03-INVALID",
    "parameters that cannot be used are an internal error",
    plainAnswers("message/send", (text) => text.replace('"code":-32602', '"code":-32603')),
  ),
  fault(
    "A2A03-SEND",
    "the answer comes before the end",
    plainAnswers("message/send", (text, { body }) =>
      body.includes("taskId") || body.includes("blocking")
        ? text
        : text.replace('"state":"completed"', '"state":"working"'),
    ),
  ),
  fault(
    "A2A03-BLOCKING",
    "the task that is at work is said to have ended",
    plainAnswers("message/send", (text, { body }) =>
      body.includes('"blocking":false') ? text.replace(/"state":"(submitted|working)"/, '"state":"completed"') : text,
    ),
  ),
  fault(
    "A2A03-STREAM",
    "a stream does not tell of the end",
    plainAnswers("message/stream", (text, { body }) =>
      body.includes("text hello") ? text.replaceAll('"state":"completed"', '"state":"working"') : text,
    ),
  ),
  fault("A2A03-GET", "a task that is not there has another error", plainAnswers("tasks/get", anotherError)),
  {
    ...fault("A2A03-GET", "the list of tasks is empty", {
      body: (text, { method, path }) => (method === "GET" && path.startsWith("/v1/tasks?") ? '{"tasks":[]}' : text),
    }),
    binding: "HTTP+JSON",
  },
  fault(
    "A2A03-HISTORY",
    "the history is always whole",
    requests((body) => body.replace(/,"historyLength":-?\d+/, "")),
  ),
  fault(
    "A2A03-CANCEL",
    "a canceled task is still at work",
    plainAnswers("tasks/cancel", (text) => text.replace('"state":"canceled"', '"state":"working"')),
  ),
  fault(
    "A2A03-MULTI-TURN",
    "a task that is not there is made",
    requests((body) => body.replace(',"taskId":"no-such-task-to-go-on-with"', "")),
  ),
  fault(
    "A2A03-RESUBSCRIBE",
    "a task that is not there has another error",
    plainAnswers("tasks/resubscribe", anotherError),
  ),
  fault(
    "A2A03-PUSH-CONFIG",
    "configs are listed under other ids",
    plainAnswers("tasks/pushNotificationConfig/list", (text) => text.replace('"id":"one"', '"id":"uno"')),
  ),
  {
    ...fault("A2A03-PUSH-CONFIG", "configs are listed under other ids over HTTP+JSON", {
      body: (text, sent) =>
        sent.method === "GET" && sent.path.endsWith("/pushNotificationConfigs") && isPlain(sent)
          ? text.replace('"id":"one"', '"id":"uno"')
          : text,
    }),
    binding: "HTTP+JSON",
  },
  fault(
    "A2A03-NOT-OFFERED",
    "notifications are taken that the card does not offer",
    onCard((text) => text.replace('"pushNotifications":true', '"pushNotifications":false')),
  ),
  fault(
    "A2A03-EXTENDED-CARD",
    "the extended card has no version",
    plainAnswers("agent/getAuthenticatedExtendedCard", (text) => text.replace('"version":', '"release":')),
  ),
];
