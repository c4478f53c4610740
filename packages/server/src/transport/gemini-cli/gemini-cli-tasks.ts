import type { GeminiCliSettings } from "@devtool/schema/gemini-cli";

/** A task that was promised to a client and begins with its first message. */
export interface PromisedTask {
  readonly id: string;
  readonly principal: string;
  readonly contextId: string;
  readonly settings: GeminiCliSettings | undefined;
}

/**
 * Remembers which tasks are talked about in the dialect, for messages that do not say so themselves, and the tasks that
 * are promised by `POST /tasks`. In memory: after a restart a message has to be recognizable by itself, and what was
 * promised and not begun is gone, as nothing was done for it.
 */
export class GeminiCliTasks {
  readonly #nextId: () => string;
  readonly #spoken = new Map<string, string>();
  readonly #promised = new Map<string, PromisedTask>();
  readonly #begun = new Map<string, string>();

  /** `nextId` makes ids that nobody guesses. */
  constructor(nextId: () => string) {
    this.#nextId = nextId;
  }

  /** Notes that a task is talked about in the dialect. */
  note(taskId: string, principal: string): void {
    remember(this.#spoken, taskId, principal);
  }

  /** Tells whether a principal talks about a task in the dialect. */
  isSpoken(taskId: string, principal: string): boolean {
    return this.#spoken.get(taskId) === principal || this.#promised.get(taskId)?.principal === principal;
  }

  /** Promises a task; of those that a principal does not begin, the newest 100 are kept. */
  promise(task: Pick<PromisedTask, "principal" | "contextId" | "settings">): PromisedTask {
    const id = this.#nextId();
    const promised = { ...task, id, contextId: task.contextId || this.#nextId() };
    // The oldest of this principal, so that nobody loses a task for what others ask.
    const [oldest, ...newer] = this.promisedTo(task.principal);
    if (oldest && newer.length + 1 >= MAX_PROMISED) this.#promised.delete(oldest.id);
    remember(this.#promised, id, promised);
    return promised;
  }

  /** Finds a promised task that has not begun. */
  findPromised(id: string, principal: string): PromisedTask | undefined {
    const task = this.#promised.get(id);
    return task?.principal === principal ? task : undefined;
  }

  /** Lists the promised tasks of a principal that have not begun. */
  promisedTo(principal: string): PromisedTask[] {
    return [...this.#promised.values()].filter((task) => task.principal === principal);
  }

  /** Takes a promised task to begin it, so that no second message does. */
  take({ id }: PromisedTask): void {
    this.#promised.delete(id);
  }

  /** Gives back a task that could not begin. */
  giveBack(task: PromisedTask): void {
    remember(this.#promised, task.id, task);
  }

  /** Notes as which task a promised one began: it goes by both ids from now on. */
  begin({ id, principal }: PromisedTask, taskId: string): void {
    remember(this.#begun, id, taskId);
    this.note(id, principal);
  }

  /** The id of the task that an id stands for. */
  resolve(id: string): string {
    return this.#begun.get(id) ?? id;
  }
}

/** The number of tasks that are promised to one principal and have not begun. */
const MAX_PROMISED = 100;

/** So many ids are remembered, the newest. */
const MAX_REMEMBERED = 10_000;

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_REMEMBERED && oldest !== undefined) map.delete(oldest);
}
