import type { JsonObject } from "@bufbuild/protobuf";
import type { ToolFacts } from "@devtool/policy";
import type { ConfirmationOption, ConfirmationRequest, EditRecord, ToolCall, ToolCallProgress } from "@devtool/schema";

/** What became of an edit: made, not made, or neither, since the file is neither as before it nor as after it. */
export type EditState = "done" | "not begun" | "unknown";

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
  readonly facts?: ToolFacts;
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
  /** What a policy may know of this call in place of its tool's facts. An approval binds to the server and definition in it. */
  readonly facts?: ToolFacts;
  /** Set when nothing confines what the call runs: then an approval that was given for a sandbox does not hold. */
  readonly confinement?: "none";
  /**
   * The files of the workspace that the call would change beside those that its arguments name, as paths relative to it: rules about
   * paths hold for them, and guarded ones ask in every mode. Unset for calls that show a file's edit, and for commands.
   */
  readonly changes?: readonly string[];
  /** What the call does to a file, so that what became of it can be found out after a crash. */
  readonly edit?: EditRecord;
  /** Takes the user's content in place of the proposed one; the result then says so. Only where a file is proposed. */
  withContent?(newContent: string): ToolInvocation;
  /** The same call confined to reading: for one that runs unasked because it only reads (`READS_ONLY`). */
  confinedToReading?(): ToolInvocation;
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
  /** How far it has come. */
  | { readonly case: "progress"; readonly value: ToolCallProgress }
  /** The process that it runs, and how that is confined. */
  | { readonly case: "process"; readonly value: { readonly pid: number; readonly sandbox: string } }
  /** Asks the user while it runs; `reply` is called once, unless the call is aborted before. */
  | { readonly case: "question"; readonly value: Question; readonly reply: (answer: Answer) => void }
  /** The outcome: `output` when it succeeded, `error` when it failed. */
  | { readonly case: "result"; readonly value: ToolResult };

/** The outcome of a call, as `ToolCall.result` has it. */
export type ToolResult = Exclude<ToolCall["result"], { case: undefined }>;

/** What a running call asks the user. It is put to them as a tool call of its own that asks. */
export interface Question {
  /** What it is about, in a line. */
  readonly description: string;
  /** What is shown. */
  readonly details: ConfirmationRequest["details"];
  /** The answers to choose from; one of them has the id `cancel`. */
  readonly options: readonly ConfirmationOption[];
}

/** What the user answered. */
export interface Answer {
  /** The id of the chosen option. */
  readonly optionId: string;
  /** The text that the user sent beside it; empty when they sent none. */
  readonly text: string;
}
