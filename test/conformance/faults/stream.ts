import {
  announceAnswer,
  changeAnswers,
  changeRequests,
  type Fault,
  fault,
  renameRetries,
} from "./fault.ts";

/** Faults of streams and exchanges. */
export const STREAM: readonly Fault[] = [
  fault(
    "STREAM-1",
    "no frame is final",
    changeAnswers((text) => text.replaceAll('"final":true', '"final":false')),
    ["CMD-1", "STREAM-2", "STREAM-10"],
  ),
  fault(
    "STREAM-1",
    "the ends of earlier exchanges are final",
    changeAnswers((text, { body }) =>
      body.includes('"tasks/resubscribe"')
        ? text.replaceAll('"final":false', '"final":true')
        : text,
    ),
  ),
  fault(
    "STREAM-1",
    "a subscription to an ended task does not report its end",
    changeAnswers((text, { body }) =>
      body.includes('"tasks/resubscribe"') &&
      /"kind":"task".*"state":"completed"/.test(text)
        ? text.replaceAll(/^id: .*\ndata: .*"status-update".*\n\n/gm, "")
        : text,
    ),
  ),
  fault(
    "STREAM-2",
    "texts have another kind",
    changeAnswers((text, { body }) =>
      body.includes("think 2")
        ? text.replaceAll('"TEXT_CONTENT"', '"text"')
        : text,
    ),
  ),
  fault(
    "STREAM-2",
    "an event repeats the user's own message",
    changeAnswers((text) =>
      text.replaceAll(
        /^data: .*task-event\/v1alpha":\{"message".*$/gm,
        (frame) =>
          frame.replace(
            '"status":{',
            '"status":{"message":{"kind":"message","role":"user","messageId":"m","parts":[]},',
          ),
      ),
    ),
  ),
  fault(
    "STREAM-2",
    "an event without a new state is a change of state",
    changeAnswers((text) =>
      text.replaceAll(
        "DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED",
        "STATE_CHANGE",
      ),
    ),
  ),
  fault(
    "STREAM-3",
    "events have no ids",
    changeAnswers((text) => text.replaceAll(/^id: .*\n/gm, "")),
  ),
  fault("STREAM-3", "a resumed stream repeats the last event", {
    body: (text, { headers }) =>
      headers["last-event-id"] === "5"
        ? text.replace(
            /^id: 6\ndata: (.*)\n\n/,
            (frame, data) => `id: 5\ndata: ${data}\n\n${frame}`,
          )
        : text,
  }),
  fault(
    "STREAM-4",
    "no text comes before a call",
    changeAnswers((text, { body }) =>
      body.includes("I will run a command")
        ? text.replaceAll('"TEXT_CONTENT"', '"text"')
        : text,
    ),
  ),
  fault(
    "STREAM-4",
    "an event comes between an answer and its call",
    announceAnswer,
  ),
  fault(
    "STREAM-5",
    "an ended task accepts no message",
    changeRequests((body) =>
      body.includes("text hello") &&
      !body.includes("metadata") &&
      !/"messageId":"(alone|counted)-/.test(body)
        ? body.replace(/"taskId":"[0-9a-f-]{36}"/, '"unknown":0')
        : body,
    ),
    ["STREAM-2"],
  ),
  fault(
    "STREAM-6",
    "cancel does nothing",
    {
      request: ({ body, headers }) =>
        body.includes('"method":"tasks/cancel"') &&
        headers["x-a2a-extensions"] !== undefined
          ? { body: body.replace("tasks/cancel", "tasks/get") }
          : undefined,
    },
    ["STREAM-2"],
  ),
  fault(
    "STREAM-7",
    "an answer is not marked as a replay",
    changeAnswers((text) =>
      text.replaceAll("/a2a/replay/v1alpha", "/a2a/other/v1alpha"),
    ),
    ["STREAM-5"],
  ),
  fault(
    "STREAM-7",
    "other settings of a retry are ignored",
    changeRequests((body) =>
      body.replace('{"approvalMode":"APPROVAL_MODE_PLAN"}', "{}"),
    ),
    ["SESSION-3"],
  ),
  fault("STREAM-7", "a repeated message is a new one", renameRetries, [
    "STREAM-5",
  ]),
  fault(
    "STREAM-8",
    "a queued message cannot be withdrawn",
    changeRequests((body) =>
      body.replace(
        '"method":"message/withdraw"',
        '"method":"message/take-back"',
      ),
    ),
  ),
  fault(
    "STREAM-8",
    "a queued message is not processed",
    changeRequests((body) =>
      body.replace('"messageId":"second-', '"unknown":0,"messageId":"first-'),
    ),
  ),
  fault(
    "STREAM-9",
    "an answer repeats the whole history",
    changeRequests((body) =>
      body.replace(
        /"params":\{(?="message":\{[^}]*"messageId":"alone-)/,
        '"params":{"configuration":{"historyLength":99},',
      ),
    ),
  ),
  fault(
    "STREAM-10",
    "a task without the extension has no artifacts",
    changeAnswers((text) => text.replaceAll('"artifacts":', '"others":')),
  ),
];
