import { answers, type Fault, fault, requests } from "./fault.ts";

/** The faults of slash commands, notifications and errors. */
export const COMMAND: readonly Fault[] = [
  fault(
    "CMD-1",
    "sub-commands are not listed",
    answers((text) => text.replaceAll('"sub_commands"', '"subcommands"')),
  ),
  fault(
    "CMD-1",
    "a command does not know its conversation",
    requests((body) => body.replace(/"context_id":"[^"]*",?/, "").replace(",}", "}")),
  ),
  fault(
    "CMD-1",
    "the events of a command name no model",
    answers((text, { body }) =>
      body.includes('"command/execute"') ? text.replaceAll(/"model":"[^"]*"/g, '"model":""') : text,
    ),
  ),
  fault(
    "CMD-2",
    "commands never ask",
    answers((text) => text.replaceAll("AWAITING_SHELL_CONFIRMATION", "STARTED")),
  ),
  fault(
    "CMD-3",
    "a command is missing",
    answers((text) => text.replaceAll('"name":"stats"', '"name":"status"')),
  ),
  fault(
    "PUSH-2",
    "any target is taken",
    requests((body) => body.replace("http://127.0.0.1:9/hook", "https://93.184.215.14/hook")),
  ),
  fault(
    "ERR-1",
    "errors do not say which field",
    answers((text, { body }) =>
      body.includes("relative/path") ? text.replaceAll(/,"data":\{"field":[^}]*\}/g, "") : text,
    ),
  ),
  fault(
    "ERR-1",
    "what the agent is said to say is the user's",
    requests((body) => body.replace('"role":"agent"', '"role":"user"')),
  ),
  fault(
    "ERR-1",
    "a field has a name that its client does not know",
    answers((text) => text.replaceAll('"field":"message.messageId"', '"field":"message.message_id"')),
  ),
  fault("ERR-1", "an error of a stream is not an event", {
    head: ({ headers }, { headers: asked, body }) =>
      asked.accept === "text/event-stream" && body.includes('"wizard"')
        ? { headers: { ...headers, "content-type": "application/json" } }
        : undefined,
    body: (text, { headers: asked, body }) =>
      asked.accept === "text/event-stream" && body.includes('"wizard"') ? text.replace(/^data: /, "") : text,
  }),
  fault(
    "ERR-1",
    "a request without an id is refused before its method is looked at",
    answers((text, { body }) => (body.includes('"no/such"') ? text.replace("-32601", "-32600") : text)),
  ),
  fault("ERR-2", "what is too big is a bad request", {
    head: ({ status }) => ({ status: status === 413 ? 400 : status }),
  }),
];
