import type { TaskSession } from "./task-session.ts";

/** An open task of the registry, and how many hold its session. */
export interface OpenTask {
  /** Undefined when the store has no such task. */
  readonly opening: Promise<TaskSession | undefined>;
  holders: number;
}

/** A session that is not closed before its holder lets go of it: between finding and using it, another task may need its place. */
export class HeldSession implements Disposable {
  readonly session: TaskSession;
  readonly #task: OpenTask;
  #isHeld = true;

  constructor(session: TaskSession, task: OpenTask) {
    this.session = session;
    this.#task = task;
    task.holders++;
  }

  /** Holds the session once more, for somebody who needs it longer. */
  hold(): HeldSession {
    return new HeldSession(this.session, this.#task);
  }

  [Symbol.dispose](): void {
    if (this.#isHeld) this.#task.holders--;
    this.#isHeld = false;
  }
}
