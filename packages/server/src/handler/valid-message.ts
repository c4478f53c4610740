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
  const { role, messageId, parts } = message;
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
  if (message.turnSettings) {
    throw invalid(
      "message.turn_settings",
      "",
      "is the server's",
      "send them as message_settings.turn",
    );
  }
  if (message.goal || message.forGoal) {
    throw invalid(
      message.goal ? "message.goal" : "message.for_goal",
      "",
      "is the server's",
      "send a goal as message_settings.goal",
    );
  }
  if (message.sender) {
    throw invalid(
      "message.sender",
      "",
      "is the server's",
      "leave it out: credentials say who sends",
    );
  }
  if (message.ideContext) {
    throw invalid(
      "message.ide_context",
      "",
      "is the agent's",
      "leave it out, or write it into a part",
    );
  }
  if (
    SESSION_SETTINGS_URI in (message.metadata ?? {}) &&
    !request.sessionSettings
  ) {
    throw invalid(
      "message.metadata",
      SESSION_SETTINGS_URI,
      "is where A2A has the settings of a session",
      "send them as session_settings",
    );
  }
  if (Object.keys(message.agentOptions).length > 0) {
    throw invalid(
      "message.agent_options",
      "",
      "is the server's",
      "send them as session_settings.agent_options",
    );
  }
  if (message.mcpServers.length > 0) {
    throw invalid(
      "message.mcp_servers",
      "",
      "is the server's",
      "send them as session_settings.mcp_servers",
    );
  }
  assertName("message.message_id", messageId);
  assertName("model", message.model);
  assertNames("message.reference_task_ids", message.referenceTaskIds);
  assertNames("message.extensions", message.extensions);
  assertKinds(parts);
  const recorded = hideSecretsInMessage({ ...message, role: Role.USER });
  return withExchangeSettings({ ...recorded, ...defined({ sender }) }, request);
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
  const agentOptions =
    taskId === "" ? {} : (sessionSettings?.agentOptions ?? {});
  const isFirst = taskId === "" && contextId === "";
  const model =
    message.model || (isFirst ? "" : (sessionSettings?.model ?? ""));
  assertName("model", model);
  return {
    ...message,
    model,
    agentOptions,
    ...defined({
      turnSettings: messageSettings?.turn,
      goal: messageSettings?.goal,
    }),
  };
}
