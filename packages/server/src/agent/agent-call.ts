import type { JsonObject } from "@bufbuild/protobuf";
import type {
  ConfirmationRequest,
  ToolCallConfirmation,
} from "@devtool/schema";

/**
 * A tool call that an agent makes with `Turn.call`.
 *
 * The server shows the call to the task's clients, asks the user when `ask` is
 * set, runs it, and records its result in the task.
 */
export interface AgentCall {
  /** The name of the tool, as clients show it. */
  readonly toolName: string;

  /**
   * The arguments of the tool. Default: none.
   *
   * The tool's name and its arguments identify the call: after a restart of the
   * server, a call with the same name and arguments is the one that the task's
   * log already has.
   */
  readonly args?: JsonObject | undefined;

  /** A one-line description of the call for the user. Default: none. */
  readonly description?: string | undefined;

  /**
   * The question to ask the user before the call runs: plain text, or a
   * question with details and options. Default: the call runs without a
   * question.
   */
  readonly ask?: string | CallQuestion | undefined;

  /**
   * Runs the call and returns its output. Called at most once.
   *
   * A `DevtoolError` that it throws makes the call fail: the error's message
   * becomes the result of the call, and the turn goes on. Any other error fails
   * the turn.
   *
   * @param signal aborts when the task is canceled or the server stops
   * @param answer the user's answer; undefined when `ask` is not set
   */
  run(
    signal: AbortSignal,
    answer: ToolCallConfirmation | undefined,
  ): CallOutput | Promise<CallOutput>;
}

/** A question to the user about one tool call. */
export interface CallQuestion {
  /**
   * What the user is asked to approve: a command, a change of a file, an MCP
   * call, or plain text. Default: the call itself, without details.
   */
  readonly details?: ConfirmationRequest["details"] | undefined;

  /**
   * The answers that the user can choose from. The option with the id `cancel`
   * declines the call. Default: `proceed_once` and `cancel`.
   */
  readonly options?: ConfirmationRequest["options"] | undefined;
}

/** The output of a tool call: text, or a JSON object. */
export type CallOutput = string | JsonObject;

/** How a tool call ended. */
export type CallOutcome =
  | { readonly case: "succeeded"; readonly output: CallOutput }
  /** The call failed, or the server stopped while it ran. */
  | { readonly case: "failed"; readonly message: string }
  /** The user declined the call, and it did not run. */
  | { readonly case: "declined" };
