import type { StepRun, Task } from "@devtool/schema";

/**
 * What keeps what the tries of a run have come to: the log of its task, or an
 * engine for durable workflows.
 *
 * That is all that differs: `TaskCalls` does a step, asks, sleeps and cancels
 * with either, and a fork has the tries that `WorkflowRun.kept` names.
 */
export interface WorkflowDriver {
  /** Returns what a try has come to: undefined before that. */
  ended(id: string): StepRun | undefined;

  /**
   * Does the work of a try that has not ended, and returns what it came to when
   * that is kept. The work is done again after a restart before that.
   *
   * @param signal ends the wait for what cannot be reached; the work has its own
   */
  step(
    id: string,
    work: () => Promise<StepRun>,
    signal: AbortSignal,
  ): Promise<StepRun>;
}

/** An engine that keeps runs elsewhere than in the logs of their tasks. */
export interface WorkflowEngine {
  /**
   * Starts the engine, for as long as what is returned is not disposed of.
   *
   * @param name the name of this process, which no other one has had
   */
  start(name: string): Promise<StartedEngine>;
}

/** An engine that runs. */
export interface StartedEngine extends AsyncDisposable {
  /**
   * Returns what keeps the run of a task, which this server has taken: what
   * another server still does of it counts no more.
   */
  driverOf(task: Task): Promise<WorkflowDriver>;

  /** Removes all that is kept of a run that has ended, by the id of its task. */
  readonly forget: (taskId: string) => Promise<void>;
}
