import { answers, type Fault, fault, onCard, requests, retriesAreNew } from "./fault.ts";

/** The faults of a server that has the extension. */
export const WIRE: readonly Fault[] = [
  fault("CARD-1", "the card is not at its older path", {
    head: (_head, { path }) => (path === "/.well-known/agent.json" ? { status: 404 } : undefined),
  }),
  fault(
    "CARD-2",
    "the card has another version of the extension",
    onCard((text) => text.replaceAll("profile/v0/", "profile/v7/")),
  ),
  fault("CARD-3", "the activated extension is not told", {
    head: ({ headers: { "x-a2a-extensions": _echoed, ...headers } }) => ({ headers }),
  }),
  fault(
    "META-1",
    "the settings of a task have another key",
    answers((text, { body }) =>
      body.includes('"method":"message/send"')
        ? text.replaceAll(/"https:[^"]*spec\.md":\{"workspace_path/g, '"settings":{"workspace_path')
        : text,
    ),
  ),
  fault(
    "JSON-1",
    "names are in camelCase too",
    answers((text) => text.replaceAll('"tool_name":', '"toolName":"x","tool_name":')),
  ),
  fault(
    "JSON-2",
    "answers in camelCase are not read",
    requests((body) => body.replace('"toolCallId":', '"toolcallid":')),
  ),
  fault(
    "JSON-3",
    "integers are rounded",
    answers((text) => text.replaceAll(/"offset":"(\d+)"/g, '"offset":$1')),
  ),
  fault(
    "SESSION-1",
    "a workspace that is not there is taken",
    requests((body) => body.replace('{"workspace_path":"/nowhere/at/all"}', "{}")),
  ),
  fault(
    "SESSION-2",
    "another workspace is taken",
    requests((body) => body.replace('{"workspace_path":"/tmp"}', "{}")),
  ),
  fault(
    "SESSION-3",
    "sessions may go further than they are allowed",
    requests((body) => body.replace('"approvalMode":"APPROVAL_MODE_PLAN"', '"approvalMode":"APPROVAL_MODE_YOLO"')),
  ),
  fault(
    "SESSION-4",
    "the model is that of the first message",
    answers((text) => text.replaceAll("conformance-second", "conformance-first")),
  ),
  fault(
    "STREAM-1",
    "no frame is final",
    answers((text) => text.replaceAll('"final":true', '"final":false')),
  ),
  fault(
    "STREAM-2",
    "texts have another kind",
    answers((text, { body }) => (body.includes("think 2") ? text.replaceAll('"TEXT_CONTENT"', '"text"') : text)),
  ),
  fault(
    "STREAM-3",
    "events have no ids",
    answers((text) => text.replaceAll(/^id: .*\n/gm, "")),
  ),
  fault(
    "STREAM-4",
    "nothing is said before a call",
    answers((text, { body }) =>
      body.includes("I will run a command") ? text.replaceAll('"TEXT_CONTENT"', '"text"') : text,
    ),
  ),
  fault(
    "STREAM-5",
    "a task that has ended takes no message",
    requests((body) =>
      body.includes("text hello") && !body.includes("metadata")
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
  fault("STREAM-7", "a message that comes again is a new one", retriesAreNew),
  fault(
    "TOOL-1",
    "running calls do not say with what",
    answers((text) =>
      text.replaceAll(/^data: .*"status":"EXECUTING".*$/gm, (frame) =>
        frame.replace('"input_parameters":', '"input":'),
      ),
    ),
  ),
  fault(
    "TOOL-2",
    "a running call still asks",
    answers((text) =>
      text.replaceAll(/^data: .*"status":"EXECUTING".*$/gm, (frame) =>
        frame.replace('"status":"EXECUTING"', '"confirmation_request":{"options":[]},"status":"EXECUTING"'),
      ),
    ),
  ),
  fault(
    "TOOL-3",
    "a command has generic details",
    answers((text) => text.replaceAll('"execute_details"', '"generic_details"')),
  ),
  fault(
    "TOOL-4",
    "nothing can be allowed for good",
    answers((text) => text.replaceAll('"id":"proceed_always"', '"id":"proceed_ever"')),
  ),
  fault(
    "TOOL-4",
    "what is allowed for good is asked again",
    requests((body) => body.replace('"selected_option_id":"proceed_always"', '"selected_option_id":"proceed_once"')),
  ),
  fault(
    "TOOL-5",
    "an answer that comes too late is a bad parameter",
    answers((text, { body }) => (body.includes('"cancel"') ? text.replace('"code":-32004', '"code":-32602') : text)),
  ),
  fault(
    "TOOL-6",
    "the user's content is not told of",
    answers((text) => text.replaceAll("The user changed the proposed content.", "")),
  ),
  fault(
    "TOOL-7",
    "output is not live",
    answers((text) => text.replaceAll('"live_content":', '"live":')),
  ),
  fault(
    "TOOL-8",
    "failures have no type",
    answers((text) => text.replaceAll('"type":"execution_failed"', '"type":""')),
  ),
  fault(
    "CMD-1",
    "sub-commands are not listed",
    answers((text) => text.replaceAll('"sub_commands"', '"subcommands"')),
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
    answers((text) => text.replaceAll(/,"data":\{"field":[^}]*\}/g, "")),
  ),
  fault("ERR-2", "what is too big is a bad request", {
    head: ({ status }) => ({ status: status === 413 ? 400 : status }),
  }),
];
