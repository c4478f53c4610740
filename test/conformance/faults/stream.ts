import { answerIsAnnounced, answers, type Fault, fault, requests, retriesAreNew } from "./fault.ts";

/** The faults of streams and exchanges. */
export const STREAM: readonly Fault[] = [
  fault(
    "STREAM-1",
    "no frame is final",
    answers((text) => text.replaceAll('"final":true', '"final":false')),
  ),
  fault(
    "STREAM-1",
    "the ends of earlier exchanges are final",
    answers((text, { body }) =>
      body.includes('"tasks/resubscribe"') ? text.replaceAll('"final":false', '"final":true') : text,
    ),
  ),
  fault(
    "STREAM-1",
    "who subscribes to a task that has ended is not told of its end",
    answers((text, { body }) =>
      body.includes('"tasks/resubscribe"') && /"kind":"task".*"state":"completed"/.test(text)
        ? text.replaceAll(/^id: .*\ndata: .*"status-update".*\n\n/gm, "")
        : text,
    ),
  ),
  fault(
    "STREAM-2",
    "texts have another kind",
    answers((text, { body }) => (body.includes("think 2") ? text.replaceAll('"TEXT_CONTENT"', '"text"') : text)),
  ),
  fault(
    "STREAM-2",
    "an event repeats the user's own message",
    answers((text) =>
      text.replaceAll(/^data: .*task-event\/v1alpha":\{"message".*$/gm, (frame) =>
        frame.replace('"status":{', '"status":{"message":{"kind":"message","role":"user","messageId":"m","parts":[]},'),
      ),
    ),
  ),
  fault(
    "STREAM-2",
    "what changes no state is a change of state",
    answers((text) => text.replaceAll("DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED", "STATE_CHANGE")),
  ),
  fault(
    "STREAM-3",
    "events have no ids",
    answers((text) => text.replaceAll(/^id: .*\n/gm, "")),
  ),
  fault("STREAM-3", "a stream that is resumed tells the last event again", {
    body: (text, { headers }) =>
      headers["last-event-id"] === "5"
        ? text.replace(/^id: 6\ndata: (.*)\n\n/, (frame, data) => `id: 5\ndata: ${data}\n\n${frame}`)
        : text,
  }),
  fault(
    "STREAM-4",
    "nothing is said before a call",
    answers((text, { body }) =>
      body.includes("I will run a command") ? text.replaceAll('"TEXT_CONTENT"', '"text"') : text,
    ),
  ),
  fault("STREAM-4", "something else comes between an answer and its call", answerIsAnnounced),
  fault(
    "STREAM-5",
    "a task that has ended takes no message",
    requests((body) =>
      body.includes("text hello") && !body.includes("metadata") && !/"messageId":"(alone|counted)-/.test(body)
        ? body.replace(/"taskId":"[0-9a-f-]{36}"/, '"unknown":0')
        : body,
    ),
  ),
  fault("STREAM-6", "cancel does nothing", {
    request: ({ body, headers }) =>
      body.includes('"method":"tasks/cancel"') && headers["x-a2a-extensions"] !== undefined
        ? { body: body.replace("tasks/cancel", "tasks/get") }
        : undefined,
  }),
  fault(
    "STREAM-7",
    "an answer does not say that it repeats an earlier one",
    answers((text) => text.replaceAll("/a2a/replay/v1alpha", "/a2a/other/v1alpha")),
  ),
  fault("STREAM-7", "a message that comes again is a new one", retriesAreNew),
  fault(
    "STREAM-8",
    "a message that waits cannot be withdrawn",
    requests((body) => body.replace('"method":"message/withdraw"', '"method":"message/take-back"')),
  ),
  fault(
    "STREAM-8",
    "a message that waits is not taken",
    requests((body) => body.replace('"messageId":"second-', '"unknown":0,"messageId":"first-')),
  ),
  fault(
    "STREAM-9",
    "an answer repeats the whole history",
    requests((body) =>
      body.replace(
        /"params":\{(?="message":\{[^}]*"messageId":"alone-)/,
        '"params":{"configuration":{"historyLength":99},',
      ),
    ),
  ),
];
