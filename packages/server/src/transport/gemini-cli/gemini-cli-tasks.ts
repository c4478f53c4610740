import type { GeminiCliSettings } from "@devtool/schema/gemini-cli";

/**
 * A task that was created without a message. It begins with its first message.
 */
export interface PromisedTask {
  readonly id: string;
  readonly principal: string;
  readonly contextId: string;
  readonly settings: GeminiCliSettings | undefined;
}

/** Maximum number of promised tasks per principal. */
const MAX_PROMISED = 100;

/** Maximum number of ids in each of the maps. */
const MAX_REMEMBERED = 10_000;

/**
 * The tasks of the dialect: those whose clients use it, for messages that do
 * not show it themselves, and those promised by `POST /tasks`.
 *
 * All of it is in memory only. After a restart, a message must show by itself
 * that it is in the dialect, and promised tasks that have not begun are gone,
 * as nothing was done for them yet.
 */
export class GeminiCliTasks {
  readonly #nextId: () => string;
  /** The principals that use the dialect, by task. */
  readonly #principals = new Map<string, string>();
  readonly #promised = new Map<string, PromisedTask>();
  /**
   * The ids of tasks that have begun, by the id under which they were promised.
   */
  readonly #begun = new Map<string, string>();

  /** `nextId` returns ids that cannot be guessed. */
  constructor(nextId: () => string) {
    this.#nextId = nextId;
  }

  /** Records that a principal uses the dialect for a task. */
  note(taskId: string, principal: string): void {
    remember(this.#principals, taskId, principal);
  }

  /** Whether a principal uses the dialect for a task. */
  usesDialect(taskId: string, principal: string): boolean {
    return (
      this.#principals.get(taskId) === principal ||
      this.#promised.get(taskId)?.principal === principal
    );
  }

  /**
   * Promises a task.
   *
   * If a principal has more than 100 that have not begun, its oldest one is
   * forgotten.
   */
  promise(
    task: Pick<PromisedTask, "principal" | "contextId" | "settings">,
  ): PromisedTask {
    const id = this.#nextId();
    const promised = {
      ...task,
      id,
      contextId: task.contextId || this.#nextId(),
    };
    // Forgets a task of the same principal, so that no principal can make
    // another one lose a task.
    const [oldest, ...newer] = this.promisedTo(task.principal);
    if (oldest && newer.length + 1 >= MAX_PROMISED) {
      this.#promised.delete(oldest.id);
    }
    remember(this.#promised, id, promised);
    return promised;
  }

  /**
   * Returns a promised task that has not begun; undefined when the principal
   * has none with this id.
   */
  findPromised(id: string, principal: string): PromisedTask | undefined {
    const task = this.#promised.get(id);
    return task?.principal === principal ? task : undefined;
  }

  /** Returns the promised tasks of a principal that have not begun. */
  promisedTo(principal: string): PromisedTask[] {
    return [...this.#promised.values()].filter(
      (task) => task.principal === principal,
    );
  }

  /**
   * Removes a promised task in order to begin it, so that no second message
   * begins it too.
   */
  take({ id }: PromisedTask): void {
    this.#promised.delete(id);
  }

  /** Returns a task that was taken and could not begin. */
  giveBack(task: PromisedTask): void {
    remember(this.#promised, task.id, task);
  }

  /**
   * Records the id with which a promised task has begun. From now on, both ids
   * stand for it.
   */
  begin({ id, principal }: PromisedTask, taskId: string): void {
    remember(this.#begun, id, taskId);
    this.note(id, principal);
  }

  /** Returns the id of the task that a client's id stands for. */
  resolve(id: string): string {
    return this.#begun.get(id) ?? id;
  }
}

/**
 * Sets an entry of a map as its newest, and removes the oldest one above the
 * limit.
 */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_REMEMBERED && oldest !== undefined) map.delete(oldest);
}
