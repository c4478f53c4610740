import type { TaskHandle } from "./task-handle.ts";
import type { TaskSession } from "./task-session.ts";

/** An open task of the registry, with the number of holders of its session. */
export interface OpenTask {
  /** Resolves to undefined when the store has no such task. */
  readonly opening: Promise<TaskSession | undefined>;
  holders: number;
}

/**
 * A session that the registry does not close before its holder disposes of this
 * object. Without it, the registry could close the session for the sake of
 * another task before its finder uses it.
 */
export class HeldSession<S extends TaskHandle = TaskHandle>
  implements Disposable
{
  readonly session: S;
  readonly #task: Pick<OpenTask, "holders">;
  #isHeld = true;

  constructor(session: S, task: Pick<OpenTask, "holders">) {
    this.session = session;
    this.#task = task;
    task.holders++;
  }

  /** Holds the session once more, for a caller that needs it longer. */
  hold(): HeldSession<S> {
    return new HeldSession(this.session, this.#task);
  }

  [Symbol.dispose](): void {
    if (this.#isHeld) this.#task.holders--;
    this.#isHeld = false;
  }
}
