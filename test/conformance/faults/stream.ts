import {
  announceAnswer,
  changeAnswers,
  changeRequests,
  type Faults,
  renameRetries,
} from "./fault.ts";

/** Faults of streams and exchanges. */
export const STREAM: Faults = {
  "STREAM-1": {
    "no frame is final": {
      spoil: changeAnswers((text) =>
        text.replaceAll('"final":true', '"final":false'),
      ),
      also: ["CMD-1", "STREAM-2", "STREAM-10"],
    },
    "the ends of earlier exchanges are final": changeAnswers(
      (text, { body }) =>
        body.includes('"tasks/resubscribe"')
          ? text.replaceAll('"final":false', '"final":true')
          : text,
    ),
    "a subscription to an ended task does not report its end": changeAnswers(
      (text, { body }) =>
        body.includes('"tasks/resubscribe"') &&
        /"kind":"task".*"state":"completed"/.test(text)
          ? text.replaceAll(/^id: .*\ndata: .*"status-update".*\n\n/gm, "")
          : text,
    ),
  },
  "STREAM-2": {
    "texts have another kind": changeAnswers((text, { body }) =>
      body.includes("think 2")
        ? text.replaceAll('"TEXT_CONTENT"', '"text"')
        : text,
    ),
    "an event repeats the user's own message": changeAnswers((text) =>
      text.replaceAll(
        /^data: .*task-event\/v1alpha":\{"message".*$/gm,
        (frame) =>
          frame.replace(
            '"status":{',
            '"status":{"message":{"kind":"message","role":"user","messageId":"m","parts":[]},',
          ),
      ),
    ),
    "an event without a new state is a change of state": changeAnswers((text) =>
      text.replaceAll(
        "DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED",
        "STATE_CHANGE",
      ),
    ),
  },
  "STREAM-3": {
    "events have no ids": changeAnswers((text) =>
      text.replaceAll(/^id: .*\n/gm, ""),
    ),
    "a resumed stream repeats the last event": {
      body: (text, { headers }) =>
        headers["last-event-id"] === "5"
          ? text.replace(
              /^id: 6\ndata: (.*)\n\n/,
              (frame, data) => `id: 5\ndata: ${data}\n\n${frame}`,
            )
          : text,
    },
  },
  "STREAM-4": {
    "no text comes before a call": changeAnswers((text, { body }) =>
      body.includes("I will run a command")
        ? text.replaceAll('"TEXT_CONTENT"', '"text"')
        : text,
    ),
    "an event comes between an answer and its call": announceAnswer,
  },
  "STREAM-5": {
    "an ended task accepts no message": {
      spoil: changeRequests((body) =>
        body.includes("text hello") &&
        !body.includes("metadata") &&
        !/"messageId":"(alone|counted)-/.test(body)
          ? body.replace(/"taskId":"[0-9a-f-]{36}"/, '"unknown":0')
          : body,
      ),
      also: ["STREAM-2"],
    },
  },
  "STREAM-6": {
    "cancel does nothing": {
      spoil: {
        request: ({ body, headers }) =>
          body.includes('"method":"tasks/cancel"') &&
          headers["x-a2a-extensions"] !== undefined
            ? { body: body.replace("tasks/cancel", "tasks/get") }
            : undefined,
      },
      also: ["STREAM-2"],
    },
  },
  "STREAM-7": {
    "an answer is not marked as a replay": {
      spoil: changeAnswers((text) =>
        text.replaceAll("/a2a/replay/v1alpha", "/a2a/other/v1alpha"),
      ),
      also: ["STREAM-5"],
    },
    "other settings of a retry are ignored": {
      spoil: changeRequests((body) =>
        body.replace('{"approvalMode":"APPROVAL_MODE_PLAN"}', "{}"),
      ),
      also: ["SESSION-3"],
    },
    "a repeated message is a new one": {
      spoil: renameRetries,
      also: ["STREAM-5"],
    },
  },
  "STREAM-8": {
    "a queued message cannot be withdrawn": changeRequests((body) =>
      body.replace(
        '"method":"message/withdraw"',
        '"method":"message/take-back"',
      ),
    ),
    "a queued message is not processed": changeRequests((body) =>
      body.replace('"messageId":"second-', '"unknown":0,"messageId":"first-'),
    ),
  },
  "STREAM-9": {
    "an answer repeats the whole history": changeRequests((body) =>
      body.replace(
        /"params":\{(?="message":\{[^}]*"messageId":"alone-)/,
        '"params":{"configuration":{"historyLength":99},',
      ),
    ),
  },
  "STREAM-10": {
    "a task without the extension has no artifacts": changeAnswers((text) =>
      text.replaceAll('"artifacts":', '"others":'),
    ),
  },
};
