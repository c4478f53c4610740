import type { Message, Part, Role, Task } from "@devtool/schema";

/**
 * One thing that a task shows: a text, a thought, a tool call with its output,
 * a file, an answer.
 */
export interface TaskItem {
  /**
   * Identifies the item in its view. It stays the same when the item changes.
   */
  readonly key: string;
  /**
   * Whether the user or the agent made it.
   */
  readonly role: Role;
  /**
   * The content. Switch on `part.content.case`.
   */
  readonly part: Part;
}

/**
 * Lists the items of a task. An item whose part has not changed is the same
 * object as before.
 */
export class TaskItems {
  readonly #ofMessages = new WeakMap<Message, readonly TaskItem[]>();
  readonly #ofParts = new WeakMap<Part, TaskItem>();

  list({ id, history }: Task): readonly TaskItem[] {
    return history.flatMap((message, index) => {
      const known = this.#ofMessages.get(message);
      if (known) return known;
      const items = message.parts.map((part, at) => {
        const item = this.#ofParts.get(part) ?? {
          key: `${id}/${index}/${at}`,
          role: message.role,
          part,
        };
        this.#ofParts.set(part, item);
        return item;
      });
      this.#ofMessages.set(message, items);
      return items;
    });
  }
}
