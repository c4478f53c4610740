import { changeAnswers, changeRequests, type Faults } from "./fault.ts";

/** Faults of slash commands, notifications and errors. */
export const COMMAND: Faults = {
  "CMD-1": {
    "sub-commands are not listed": changeAnswers((text) =>
      text.replaceAll('"sub_commands"', '"subcommands"'),
    ),
    "a command does not know its conversation": changeRequests((body) =>
      body.replace(/"context_id":"[^"]*",?/, "").replace(",}", "}"),
    ),
    "the events of a command name no model": changeAnswers((text, { body }) =>
      body.includes('"command/execute"')
        ? text.replaceAll(/"model":"[^"]*"/g, '"model":""')
        : text,
    ),
  },
  "CMD-2": {
    "commands never ask": changeAnswers((text) =>
      text.replaceAll("AWAITING_SHELL_CONFIRMATION", "STARTED"),
    ),
  },
  "CMD-3": {
    "a command is missing": changeAnswers((text) =>
      text.replaceAll('"name":"stats"', '"name":"status"'),
    ),
  },
  "PUSH-2": {
    "any webhook target is accepted": changeRequests((body) =>
      body.replace("http://127.0.0.1:9/hook", "https://93.184.215.14/hook"),
    ),
  },
  "PUSH-3": {
    "the secrets of push configs are given back": changeAnswers((text) =>
      text.replaceAll('"[hidden]"', '"a secret"'),
    ),
  },
  "ERR-1": {
    "errors do not name the field": changeAnswers((text, { body }) =>
      body.includes("relative/path")
        ? text.replaceAll(/,"data":\{"field":[^}]*\}/g, "")
        : text,
    ),
    "a message with the agent's role is taken for the user's": changeRequests(
      (body) => body.replace('"role":"agent"', '"role":"user"'),
    ),
    "a field is named by a name that the client does not use": changeAnswers(
      (text) =>
        text.replaceAll(
          '"field":"message.messageId"',
          '"field":"message.message_id"',
        ),
    ),
    "an error of a stream is not an event": {
      head: ({ headers }, { headers: asked, body }) =>
        asked.accept === "text/event-stream" && body.includes('"wizard"')
          ? { headers: { ...headers, "content-type": "application/json" } }
          : undefined,
      body: (text, { headers: asked, body }) =>
        asked.accept === "text/event-stream" && body.includes('"wizard"')
          ? text.replace(/^data: /, "")
          : text,
    },
    "a request without an id is refused before its method is checked":
      changeAnswers((text, { body }) =>
        body.includes('"no/such"') ? text.replace("-32601", "-32600") : text,
      ),
  },
  "ERR-2": {
    "a request that is too large is a bad request": {
      head: ({ status }) => ({ status: status === 413 ? 400 : status }),
    },
  },
};
