import type { Task } from "@devtool/schema";
import { EarlierConversation } from "./earlier-conversation.ts";

/**
 * The state that the open tasks of one conversation share: the tasks of one
 * context and one principal.
 */
export class Conversation {
  /** The messages of earlier tasks that the open ones continue. */
  readonly earlier: EarlierConversation = new EarlierConversation();
  /**
   * The id under which the agent keeps the conversation itself; empty for none.
   * Later events of all tasks record it.
   */
  agentSessionId = "";
  #extensionActive = false;

  /**
   * Whether the client has activated the development-tool extension (CARD-3).
   * Later events of all tasks of the conversation record it.
   */
  get extensionActive(): boolean {
    return this.#extensionActive;
  }

  /**
   * Activates the extension for good. A request can opt out for itself only.
   */
  activateExtension(): void {
    this.#extensionActive = true;
  }
}

/** The fields of a task that identify its conversation. */
type ConversationOfTask = Pick<Task, "principal" | "contextId">;

/**
 * The conversations with open tasks. A conversation is removed when its last
 * open task is closed: the log has its state.
 */
export class OpenConversations {
  readonly #conversations = new Map<
    string,
    { readonly conversation: Conversation; openTasks: number }
  >();

  /**
   * Returns the conversation of a task that is being opened: the same object
   * while any of its tasks is open.
   */
  open(task: ConversationOfTask): Conversation {
    const key = JSON.stringify([task.principal, task.contextId]);
    const open = this.#conversations.get(key) ?? {
      conversation: new Conversation(),
      openTasks: 0,
    };
    open.openTasks++;
    this.#conversations.set(key, open);
    return open.conversation;
  }

  /** Records that a task was deleted, which any conversation may go on with. */
  noteDeleted(taskId: string): void {
    for (const { conversation } of this.#conversations.values()) {
      conversation.earlier.noteChange(taskId);
    }
  }

  /** Records that a task was closed. Must be called once for each `open`. */
  close(task: ConversationOfTask): void {
    const key = JSON.stringify([task.principal, task.contextId]);
    const open = this.#conversations.get(key);
    if (open && --open.openTasks === 0) this.#conversations.delete(key);
  }
}
