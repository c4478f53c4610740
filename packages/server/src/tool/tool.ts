import type { JsonObject } from "@bufbuild/protobuf";
import type { ConfirmationRequest, ToolCall } from "@devtool/schema";

/** How a model sees a tool. */
export interface ToolDeclaration {
  /** At most 64 characters of `[a-zA-Z0-9_]`. */
  readonly name: string;
  /** What it does and when to use it, for the model. */
  readonly description: string;
  /** A JSON Schema of type object. */
  readonly parameters: JsonObject;
}

/** Something an agent may do. */
export interface Tool {
  readonly declaration: ToolDeclaration;
  /**
   * Checks the arguments once and says what the call would do; changes nothing.
   * Throws a `DevtoolError` with `Code.InvalidArgument` for bad arguments and `Code.PermissionDenied` for a path
   * outside the workspace: the call becomes FAILED with `invalid_tool_params` or `policy_violation`.
   */
  prepare(args: JsonObject, signal: AbortSignal): Promise<ToolInvocation>;
}

/** A checked call: described, then confirmed, then run, at most once. */
export interface ToolInvocation {
  /** The arguments as they run. */
  readonly args: JsonObject;
  /** What the call does, in a line. */
  readonly description: string;
  /**
   * What to ask the user about. Unset means the call changes nothing: it needs no approval and may run beside others.
   */
  readonly confirmation?: ConfirmationRequest["details"];
  /** Takes the user's content in place of the proposed one; the result then says so. Only where a file is proposed. */
  withContent?(newContent: string): ToolInvocation;
  /**
   * Runs the call. Yields its live output as it grows and exactly one result, last. Throws a `DevtoolError` when it
   * fails without a result of its own. Ends soon after `signal` aborts, with every process it started.
   */
  execute(signal: AbortSignal): AsyncIterable<ToolEvent>;
}

/** What a running call gives. */
export type ToolEvent =
  /** The whole output so far; replaces what came before. */
  | { readonly case: "live"; readonly value: string }
  /** The outcome: `output` when it succeeded, `error` when it failed. */
  | { readonly case: "result"; readonly value: ToolResult };

/** The outcome of a call, as `ToolCall.result` has it. */
export type ToolResult = Exclude<ToolCall["result"], { case: undefined }>;
