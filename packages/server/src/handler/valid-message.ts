import { defined } from "@devtool/internal/json";
import {
  type Message,
  type Part,
  Role,
  SESSION_SETTINGS_URI,
  type Sender,
  type SendMessageRequest,
} from "@devtool/schema";
import { invalid } from "../errors.ts";
import { assertFork } from "./conversation-fork.ts";
import { hideSecretsInMessage } from "./hide-secrets.ts";
import { assertName, assertNames } from "./name-limit.ts";

/** The kinds of parts that clients may send. */
const CLIENT_PARTS: ReadonlySet<string | undefined> = new Set([
  "text",
  "file",
  "data",
  "dataValue",
  "confirmation",
]);

/** A field of a message that clients do not set. */
interface ReservedField {
  readonly field: string;
  readonly isSet: (message: Message) => boolean;
  readonly owner: "server" | "agent";
  /** What a client does in its place. */
  readonly remedy: string;
}

const RESERVED: readonly ReservedField[] = [
  {
    field: "turn_settings",
    isSet: ({ turnSettings }) => turnSettings !== undefined,
    owner: "server",
    remedy: "send them as message_settings.turn",
  },
  {
    field: "goal",
    isSet: ({ goal }) => goal !== undefined,
    owner: "server",
    remedy: "send a goal as message_settings.goal",
  },
  {
    field: "for_goal",
    isSet: ({ forGoal }) => forGoal,
    owner: "server",
    remedy: "send a goal as message_settings.goal",
  },
  {
    field: "fork",
    isSet: ({ fork }) => fork !== undefined,
    owner: "server",
    remedy: "send it as message_settings.fork",
  },
  {
    field: "sender",
    isSet: ({ sender }) => sender !== undefined,
    owner: "server",
    remedy: "leave it out: credentials say who sends",
  },
  {
    field: "ide_context",
    isSet: ({ ideContext }) => ideContext !== undefined,
    owner: "agent",
    remedy: "leave it out, or write it into a part",
  },
  {
    field: "agent_options",
    isSet: ({ agentOptions }) => Object.keys(agentOptions).length > 0,
    owner: "server",
    remedy: "send them as session_settings.agent_options",
  },
  {
    field: "mcp_servers",
    isSet: ({ mcpServers }) => mcpServers.length > 0,
    owner: "server",
    remedy: "send them as session_settings.mcp_servers",
  },
];

/**
 * Returns the message of a request in the form in which it is recorded. Throws
 * `Code.InvalidArgument` for an invalid one.
 *
 * @param sender who sent it. Default: nothing is recorded
 */
export function validMessage(
  request: SendMessageRequest,
  maxParts: number,
  sender?: Sender,
): Message {
  const { message } = request;
  if (!message) throw invalid("message", "", "is missing");
  assertComplete(message, maxParts);
  assertClientFields(request, message);
  const { messageId, parts } = message;
  assertName("message.message_id", messageId);
  assertName("model", message.model);
  assertNames("message.reference_task_ids", message.referenceTaskIds);
  assertNames("message.extensions", message.extensions);
  assertKinds(parts);
  assertFork(request);
  const recorded = hideSecretsInMessage({ ...message, role: Role.USER });
  return withExchangeSettings({ ...recorded, ...defined({ sender }) }, request);
}

/** Throws for a message that is not a user's, or that has too little or too much. */
function assertComplete(
  { role, messageId, parts }: Message,
  maxParts: number,
): void {
  if (role === Role.AGENT) {
    throw invalid(
      "message.role",
      "agent",
      "must be the user's in what a client sends",
    );
  }
  if (messageId === "") {
    throw invalid(
      "message.message_id",
      "",
      "is missing",
      "choose an id that is new for each message",
    );
  }
  if (parts.length === 0) {
    throw invalid(
      "message.parts",
      "",
      "is empty: a message needs at least one part",
    );
  }
  if (parts.length > maxParts) {
    throw invalid(
      "message.parts",
      String(parts.length),
      `are too many: limit is ${maxParts}`,
    );
  }
}

/** Throws for a field that clients send elsewhere, or not at all. */
function assertClientFields(
  { sessionSettings }: SendMessageRequest,
  message: Message,
): void {
  for (const { field, isSet, owner, remedy } of RESERVED) {
    if (!isSet(message)) continue;
    throw invalid(`message.${field}`, "", `is the ${owner}'s`, remedy);
  }
  if (SESSION_SETTINGS_URI in (message.metadata ?? {}) && !sessionSettings) {
    throw invalid(
      "message.metadata",
      SESSION_SETTINGS_URI,
      "is where A2A has the settings of a session",
      "send them as session_settings",
    );
  }
}

/** Throws for a part that clients may not send. */
function assertKinds(parts: readonly Part[]): void {
  for (const [index, { content, modifiedArguments }] of parts.entries()) {
    if (modifiedArguments && content.case !== "confirmation") {
      throw invalid(
        "modified_arguments",
        "",
        "are set for a part that answers no tool call",
        "leave them out",
      );
    }
    if (CLIENT_PARTS.has(content.case)) continue;
    const problem =
      "must not be sent by a client: send text, file, data or a confirmation";
    throw invalid(`message.parts[${index}]`, content.case ?? "", problem);
  }
}

/**
 * Returns a message of a conversation with the model, the agent's options and
 * the settings of its turn that its request chooses (SESSION-4).
 */
function withExchangeSettings(
  message: Message,
  request: SendMessageRequest,
): Message {
  const { taskId, contextId, sessionSettings, messageSettings } = request;
  const { turn: turnSettings, goal, fork } = messageSettings ?? {};
  const agentOptions =
    taskId === "" ? {} : (sessionSettings?.agentOptions ?? {});
  // A fork has the session of the conversation that it goes on with.
  const isFirst = taskId === "" && contextId === "" && !fork;
  const model =
    message.model || (isFirst ? "" : (sessionSettings?.model ?? ""));
  assertName("model", model);
  return {
    ...message,
    model,
    agentOptions,
    ...defined({ turnSettings, goal, fork }),
  };
}
