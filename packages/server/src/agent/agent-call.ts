import type { JsonObject } from "@bufbuild/protobuf";
import type { ConfirmationRequest, ToolCallConfirmation } from "@devtool/schema";

/** A tool call that an agent makes itself (`Turn.call`). */
export interface AgentCall {
  /** The name of the tool, as clients show it. */
  readonly toolName: string;
  /** Its arguments. With the name they say which call this is, so that a restart finds it again. Default: none. */
  readonly args?: JsonObject;
  /** What the call does, in a line. Default: nothing is said. */
  readonly description?: string;
  /** What to ask the user before it runs: words, or a question with details and options. Left out, it runs without being asked about. */
  readonly ask?: string | CallQuestion;
  /**
   * Runs the call, once, and gives what came of it; `answer` is what the user chose where they were asked. Throws a
   * `DevtoolError` when the call fails, whose message becomes its result; any other error fails the turn.
   */
  run(signal: AbortSignal, answer: ToolCallConfirmation | undefined): CallOutput | Promise<CallOutput>;
}

/** What to ask the user before a call runs. */
export interface CallQuestion {
  /** What is shown: a command, a change of a file, an MCP call, or words. Default: the call alone. */
  readonly details?: ConfirmationRequest["details"];
  /** The answers to choose from; the one with the id `cancel` declines. Default: `proceed_once` and `cancel`. */
  readonly options?: ConfirmationRequest["options"];
}

/** What a call gives: text, or an object. */
export type CallOutput = string | JsonObject;

/** How a call ended. */
export type CallOutcome =
  | { readonly case: "succeeded"; readonly output: CallOutput }
  /** It failed, or a stop of the server cut it while it ran. */
  | { readonly case: "failed"; readonly message: string }
  /** The user declined it: it did not run. */
  | { readonly case: "declined" };
