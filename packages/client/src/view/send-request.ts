import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import {
  type AgentSettingsSchema,
  MessageSettingsSchema,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SessionSettingsSchema,
} from "@devtool/schema";
import { textMessage } from "../confirmation.ts";

/**
 * The session in which a first message starts a task. Fields of the message's
 * own request come before these.
 */
export interface NewSession {
  /** The conversation that the task belongs to. Default: a new one. */
  readonly contextId?: string;
  /**
   * The workspace of the task. Default: that of the conversation, or else of
   * the server.
   */
  readonly settings?: MessageInitShape<typeof AgentSettingsSchema>;
  /**
   * The agent, the model, the approval mode and other settings of the session.
   * Default: those of the conversation, or else of the server.
   */
  readonly sessionSettings?: MessageInitShape<typeof SessionSettingsSchema>;
}

/**
 * What a view sends: a text, or a request to `SendMessage` whose `messageId`
 * may be missing.
 */
export type MessageContent =
  | string
  | MessageInitShape<typeof SendMessageRequestSchema>;

/**
 * What a view adds to requests that lack it.
 */
export interface SendOptions {
  /**
   * The session of a new task.
   *
   * Default: a new conversation with the settings of the server.
   */
  readonly session?: NewSession;
  /**
   * What the program calls itself, for people: at most 64 visible characters.
   * It is recorded with each answer, and shown to others.
   *
   * Default: nothing.
   */
  readonly clientLabel?: string;
  /**
   * Creates the ids of messages.
   *
   * Default: `crypto.randomUUID`, which browsers have in secure contexts only.
   */
  readonly nextId?: () => string;
}

/**
 * Returns the request that sends the content of a view, with all that it needs
 * but the task.
 */
export function createSendRequest(
  content: MessageContent,
  { clientLabel, nextId = () => crypto.randomUUID() }: SendOptions,
): SendMessageRequest {
  const given =
    typeof content === "string"
      ? { message: textMessage(nextId(), content) }
      : content;
  const request = create(SendMessageRequestSchema, given);
  if (request.message) {
    const { messageId } = request.message;
    request.message = {
      ...request.message,
      messageId: messageId || nextId(),
      role: Role.USER,
    };
  }
  if (clientLabel !== undefined) {
    const settings = request.messageSettings ?? create(MessageSettingsSchema);
    request.messageSettings = {
      ...settings,
      clientLabel: settings.clientLabel || clientLabel,
    };
  }
  return request;
}

/**
 * Returns a request to a task, unless it names another one. With an empty task
 * id, it starts a task in the session of the options.
 */
export function addressRequest(
  request: SendMessageRequest,
  taskId: string,
  options: SendOptions,
): SendMessageRequest {
  const recipient = request.taskId || taskId;
  if (recipient !== "") return { ...request, taskId: recipient };
  const session = create(SendMessageRequestSchema, options.session);
  const {
    contextId,
    settings = session.settings,
    sessionSettings = session.sessionSettings,
  } = request;
  return create(SendMessageRequestSchema, {
    ...request,
    contextId: contextId || session.contextId,
    ...defined({ settings, sessionSettings }),
  });
}
