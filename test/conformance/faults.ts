// biome-ignore-all lint/suspicious/noTemplateCurlyInString: bodies of JSON look like this
import type { BindingName, ProtocolVersion } from "@devtool/conformance";
import type { Sent, Spoil } from "./spoiling-proxy.ts";

/** A way in which a server can be wrong, and the one requirement that it breaks. */
export interface Fault {
  readonly requirement: string;
  /** What is wrong, after "notices that". */
  readonly fault: string;
  /** The version of A2A in which it shows. */
  readonly protocolVersion: ProtocolVersion;
  /** The binding in which it shows. */
  readonly binding: BindingName;
  /** Made anew for each run, since some remember. */
  readonly spoil: () => Spoil;
}

/** A fault that shows over JSON-RPC, in the version of its requirement or else in 0.3. */
function fault(requirement: string, what: string, spoil: Spoil | (() => Spoil)): Fault {
  return {
    requirement,
    fault: what,
    protocolVersion: requirement.startsWith("A2A1-") ? "1.0" : "0.3",
    binding: "JSONRPC",
    spoil: typeof spoil === "function" ? spoil : () => spoil,
  };
}

/** The faults of a server that speaks A2A 0.3. */
const A2A_03: readonly Fault[] = [
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
    requests((body) => body.replace(',"taskId":"no-such-task"', "")),
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

/** The faults of a server that speaks A2A 1.0. */
const A2A_1: readonly Fault[] = [
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
    requests((body) => body.replace(/"historyLength":-?\d+/, '"x":0')),
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

/** The faults of a server that has the extension. */
const WIRE: readonly Fault[] = [
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

/** For each requirement that a server suite shows, at least one way to break it and nothing else. */
export const FAULTS: readonly Fault[] = [...A2A_03, ...A2A_1, ...WIRE];

function answers(body: NonNullable<Spoil["body"]>): Spoil {
  return { body };
}

function requests(change: (body: string) => string): Spoil {
  return { request: ({ body }) => ({ body: change(body) }) };
}

function onCard(change: (text: string) => string): Spoil {
  return { body: (text, { path }) => (path === "/.well-known/agent-card.json" ? change(text) : text) };
}

/** Changes the answers of a method where the client has not activated the extension: there A2A itself is tested. */
function plainAnswers(method: string, change: (text: string, sent: Sent) => string): Spoil {
  return {
    body: (text, sent) => (sent.body.includes(`"method":"${method}"`) && isPlain(sent) ? change(text, sent) : text),
  };
}

function isPlain({ headers }: Sent): boolean {
  return headers["x-a2a-extensions"] === undefined && headers["a2a-extensions"] === undefined;
}

function anotherError(text: string, { body }: Sent): string {
  if (!body.includes("no-such-task")) return text;
  return text.replace('"code":-32001', '"code":-32004').replace("TASK_NOT_FOUND", "UNSUPPORTED_OPERATION");
}

function letAllIn(method: string): Spoil {
  let token = "";
  return {
    request: ({ headers, body }) => {
      if (headers.authorization && headers.authorization !== "Bearer wrong") token = headers.authorization;
      return body.includes(`"method":"${method}"`) ? { headers: { ...headers, authorization: token } } : undefined;
    },
  };
}

/** Puts the first event of a plain stream behind the second. */
function taskComesSecond(): Spoil {
  const held = new WeakMap<Sent, string>();
  return {
    body: (text, sent) => {
      if (!sent.body.includes('"SendStreamingMessage"') || !sent.body.includes("text hello") || !isPlain(sent))
        return text;
      const events = `${held.get(sent) ?? ""}${text}`.split(/(?<=\n\n)/).filter((event) => event !== "");
      if (held.get(sent) === "") return text;
      const [first = "", second, ...rest] = events;
      held.set(sent, second === undefined ? first : "");
      return second === undefined ? "" : [second, first, ...rest].join("");
    },
  };
}

function retriesAreNew(): Spoil {
  const seen = new Set<string>();
  return {
    request: ({ body }) => {
      const id = /"messageId":"([^"]+)"/.exec(body)?.[1];
      if (id === undefined) return undefined;
      const again = seen.has(id);
      seen.add(id);
      return again ? { body: body.replace(id, crypto.randomUUID()) } : undefined;
    },
  };
}
