import type { AgentEvent, Turn } from "./agent-executor.ts";

/** A check of a goal, as a call of the task. */
export interface CheckCall {
  /** The id of the call, the same when the turn goes on after a restart. */
  readonly id: string;
  /** The shell command. */
  readonly command: string;
}

/**
 * Runs the checks of goals, for the tasks of any agent of the server: its own
 * rules for commands hold, its sandbox confines them, and it asks the user where
 * it would for its own.
 */
export interface GoalChecks {
  /**
   * Runs the commands in the workspace of the task, one after the other, until
   * one does not succeed. Each is a tool call with the given id, whose status is
   * SUCCEEDED when the command ended with exit code 0.
   *
   * A call that the task has already does not run again; one that waits for its
   * user still does.
   */
  run(
    turn: Turn,
    checks: readonly CheckCall[],
    signal: AbortSignal,
  ): AsyncIterable<AgentEvent>;
}
