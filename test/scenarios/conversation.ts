import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type AskedToolCall,
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import {
  emptyTask,
  type Message,
  MessageSchema,
  type PartSchema,
  Role,
  reduceTask,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type Task,
  type TaskEvent,
  type ToolCall,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import { agentText } from "../tasks.ts";

/**
 * The user's answer to a call: an option and, for a changed edit, the new
 * content.
 */
export interface Choice {
  readonly option: string;
  readonly newContent?: string;
}

/** The parts of a message beside its text, or in place of it. */
export interface Said {
  readonly model?: string;
  readonly parts?: MessageInitShape<typeof PartSchema>[];
}

/**
 * A user in conversation with an agent, through a client; keeps all events that
 * came and the task they make.
 */
export class Conversation {
  readonly events: TaskEvent[] = [];
  task: Task = emptyTask();
  readonly #client: DevtoolClient;
  readonly #first: SendMessageRequest;
  readonly #signal = AbortSignal.timeout(60_000);

  /**
   * Begins or, with `task`, goes on; `first` is sent beside the first message.
   */
  constructor(
    client: DevtoolClient,
    first: MessageInitShape<typeof SendMessageRequestSchema> = {},
    task?: Task,
  ) {
    this.#client = client;
    this.#first = create(SendMessageRequestSchema, first);
    if (task) this.task = task;
  }

  /** The calls that wait for an answer. */
  get asked(): AskedToolCall[] {
    return pendingToolCalls(this.task);
  }

  /** All calls, in order. */
  get calls(): ToolCall[] {
    return this.task.history.flatMap(toolCallsOf);
  }

  /** Each call as `name STATUS`. */
  get outcomes(): string[] {
    return this.calls.map(
      ({ toolName, status }) => `${toolName} ${ToolCallStatus[status]}`,
    );
  }

  /** All that the agent said. */
  get text(): string {
    return agentText(this.task);
  }

  /**
   * Sends a text, with whatever else the message has, and follows its exchange
   * to the end.
   */
  async say(text: string, more: Said = {}): Promise<void> {
    const { parts } = textMessage("", text);
    await this.send(
      create(MessageSchema, {
        messageId: crypto.randomUUID(),
        role: Role.USER,
        parts,
        ...more,
      }),
    );
  }

  /**
   * Answers open questions as `choose` says, those that it chooses for, with a
   * text beside, and follows the exchange.
   */
  async answer(
    choose: (call: ToolCall) => Choice | string | undefined,
    text = "",
  ): Promise<void> {
    const answers = this.asked.flatMap((call) => {
      const choice = choose(call);
      if (choice === undefined) return [];
      const { option, newContent } =
        typeof choice === "string"
          ? { option: choice, newContent: undefined }
          : choice;
      return confirmationPart(call, option, newContent);
    });
    const said = text === "" ? [] : textMessage("", text).parts;
    const parts = [...answers, ...said];
    await this.send(
      create(MessageSchema, {
        messageId: crypto.randomUUID(),
        role: Role.USER,
        parts,
      }),
    );
  }

  /** Sends a message and follows its exchange. */
  async send(message: Message): Promise<void> {
    const { id: taskId, contextId } = this.task;
    const where =
      taskId === ""
        ? this.#first
        : create(SendMessageRequestSchema, { taskId, contextId });
    for await (const event of streamMessage(
      this.#client,
      { ...where, message },
      this.#signal,
    )) {
      this.events.push(event);
      this.task = reduceTask(this.task, event);
    }
  }
}
