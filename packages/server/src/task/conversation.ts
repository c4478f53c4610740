import type { Task } from "@devtool/schema";
import { EarlierConversation } from "./earlier-conversation.ts";

/** State that the open tasks of one conversation share: those of one context and one principal. */
export class Conversation {
  /** What its tasks go on from. */
  readonly earlier: EarlierConversation = new EarlierConversation();
  #extensionActive = false;

  /** Whether the client has shown that it knows the development-tool extension (CARD-3). The next events of all tasks say so. */
  get extensionActive(): boolean {
    return this.#extensionActive;
  }

  /** Notes that the client knows the extension. There is no way back: a request that opts out does so for itself alone. */
  activateExtension(): void {
    this.#extensionActive = true;
  }
}

/** The conversations that have open tasks. One is forgotten when the last of its tasks is closed: the log says what it was. */
export class OpenConversations {
  readonly #conversations = new Map<string, { readonly conversation: Conversation; openTasks: number }>();

  /** The conversation of a task that is opened: the same object for as long as one of its tasks is open. */
  open(task: Pick<Task, "principal" | "contextId">): Conversation {
    const key = keyOf(task);
    const open = this.#conversations.get(key) ?? { conversation: new Conversation(), openTasks: 0 };
    open.openTasks++;
    this.#conversations.set(key, open);
    return open.conversation;
  }

  /** Notes that a task is closed; once for each time that one was opened. */
  close(task: Pick<Task, "principal" | "contextId">): void {
    const key = keyOf(task);
    const open = this.#conversations.get(key);
    if (open && --open.openTasks === 0) this.#conversations.delete(key);
  }
}

function keyOf({ principal, contextId }: Pick<Task, "principal" | "contextId">): string {
  return JSON.stringify([principal, contextId]);
}
