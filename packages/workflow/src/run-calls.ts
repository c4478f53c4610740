import type { JsonObject } from "@bufbuild/protobuf";

/** One try of a step, for an agent. Equal calls of a run are the same try. */
export interface StepCall {
  /** Path of the step; see `StepRun.path`. */
  readonly path: string;
  /** Number of the try, from 1. */
  readonly attempt: number;
  /** Whether the try undoes the step. */
  readonly undoes: boolean;
  /** Name of the agent. */
  readonly agent: string;
  readonly message: string;
  /** Data that comes with the message. Default: none. */
  readonly data?: JsonObject | undefined;
  /** Maximum time in milliseconds. Default: no limit. */
  readonly timeoutMs?: number | undefined;
}

/** How a try of a step ended. */
export interface StepEnd {
  /** Undefined when it failed. */
  readonly result: JsonObject | undefined;
  /** Why it failed. Empty if it has not. */
  readonly error: string;
  /** Whether another try is of no use. */
  readonly isFinal: boolean;
  /** When it ended, in milliseconds since 1970. */
  readonly endMs: number;
}

/** What people are asked before a step starts. */
export interface StepQuestion {
  /** Path of the step. */
  readonly path: string;
  /** All that they are shown. */
  readonly text: string;
}

/**
 * What a run does, which is all that `runWorkflow` waits for.
 *
 * `runWorkflow` is called again with the same run after a restart, and makes the
 * same calls. A call that has ended then returns at once, before any timer or
 * input, what it returned. One that was interrupted goes on. The run is canceled
 * by its signal, and a fork is a run with `WorkflowRun.kept`.
 */
export interface RunCalls {
  /**
   * Has an agent do a step, unless it has. Rejects with the signal's reason when
   * that aborts: the work of the agent is canceled then.
   */
  step(call: StepCall, signal: AbortSignal): Promise<StepEnd>;

  /** Asks people, and returns whether they agreed. */
  wait(question: StepQuestion, signal: AbortSignal): Promise<boolean>;

  /** Waits until a time in milliseconds since 1970. */
  sleep(untilMs: number, signal: AbortSignal): Promise<void>;
}
