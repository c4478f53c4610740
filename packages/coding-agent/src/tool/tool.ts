import type { JsonObject } from "@bufbuild/protobuf";
import type { ToolFacts } from "@devtool/policy";
import type {
  ConfirmationOption,
  ConfirmationRequest,
  EditRecord,
  File,
  Task,
  ToolCall,
  ToolCallDetail,
  ToolCallProgress,
  TraceContext,
} from "@devtool/schema";

/** Where another agent does the work of a call. */
export type CallDelegation = NonNullable<ToolCallDetail["delegation"]>;

/**
 * The state of an edit. `unknown` means that the file has neither the old nor
 * the new content.
 */
export type EditState = "done" | "not begun" | "unknown";

/**
 * The contents that files get from calls that have not run yet, by the path
 * relative to the workspace.
 */
export type PendingEdits = ReadonlyMap<string, string>;

/** The description of a tool for a model. */
export interface ToolDeclaration {
  /**
   * The name: 1 to 64 characters of `[a-zA-Z0-9_]`, and of `-` for a tool of an
   * MCP server.
   */
  readonly name: string;
  /** A text for the model that says what the tool does and when to use it. */
  readonly description: string;
  /**
   * The JSON Schema of the arguments, of type object. It informs the model;
   * `Tool.prepare` checks the arguments.
   */
  readonly parameters: JsonObject;
}

/** A tool that an agent may call. */
export interface Tool {
  readonly declaration: ToolDeclaration;
  /** Facts about the tool for the policy, for instance its MCP server. */
  readonly facts?: ToolFacts;
  /**
   * Validates the arguments of a call and describes its effect. Changes
   * nothing.
   *
   * Throws a `DevtoolError` with `Code.InvalidArgument` for invalid arguments,
   * and with `Code.PermissionDenied` for a path outside the workspace. The call
   * then becomes FAILED with `invalid_tool_params` or `policy_violation`.
   *
   * `pending` are the edits of earlier calls of the same step: a tool that edits
   * files builds on them. Default: none.
   */
  prepare(
    args: JsonObject,
    signal: AbortSignal,
    pending?: PendingEdits,
  ): Promise<ToolInvocation>;
}

/**
 * The tools of one turn. Disposing of the set releases the resources that they
 * share, such as the open workspace.
 */
export interface ToolSet extends AsyncDisposable {
  /** The tools by name. */
  readonly tools: ReadonlyMap<string, Tool>;
  /**
   * Returns whether an edit that was in progress when the server stopped was
   * made, judged by the file's content.
   */
  settle(edit: EditRecord): EditState;
}

/** A validated call. It is described, then approved, then run at most once. */
export interface ToolInvocation {
  /** The arguments with which the call runs. */
  readonly args: JsonObject;
  /** One line that describes the call, for the user who approves it. */
  readonly description: string;
  /**
   * The details that the user sees before approving the call.
   *
   * Undefined means that the call changes nothing: it needs no approval and may
   * run side by side with others.
   */
  readonly confirmation?: ConfirmationRequest["details"];
  /**
   * Whether the call changes nothing although it has a confirmation. Calls after
   * it then do not wait for the user's answer to it. Default: false.
   */
  readonly onlyReads?: boolean;
  /**
   * Whether the call runs after all calls before it in its step, and before all
   * calls after it, even if the user is not asked. Default: only for edits.
   *
   * Calls that may change something keep their order if the user is asked.
   */
  readonly waitsForPrevious?: boolean;
  /**
   * Facts about this call for the policy. They replace those of the tool. An
   * approval covers their server and definition.
   */
  readonly facts?: ToolFacts;
  /**
   * `none` when no sandbox confines the processes of the call. An approval for
   * a sandboxed call then does not apply.
   */
  readonly confinement?: "none";
  /**
   * Access beyond that of other calls which the description names, as words. An
   * approval of the call covers it.
   */
  readonly access?: readonly string[];
  /**
   * The files that the call changes in addition to those in its arguments, as
   * paths relative to the workspace.
   *
   * Rules about paths apply to these files, and guarded files need approval in
   * every mode. Not set for calls that show the edit of one file, and for
   * commands.
   */
  readonly changes?: readonly string[];
  /**
   * The edit of a file that the call makes, from which its state can be
   * determined after a crash.
   */
  readonly edit?: EditRecord;
  /**
   * The agent that does the work of the call in a task of its own. After a
   * restart such a call runs again, and finds that task (`CallPlace`).
   */
  readonly delegation?: CallDelegation;
  /**
   * Returns the call with content that the user wrote in place of the proposed
   * content. Set only for edits of files.
   */
  withContent?(newContent: string): ToolInvocation;
  /**
   * Returns the same call, confined to reading. Used for calls that run without
   * approval because they only read (`READS_ONLY`).
   */
  confinedToReading?(): ToolInvocation;
  /**
   * Returns the same call, with the access that it names. Used for calls that
   * the user was asked about.
   */
  withAccess?(): ToolInvocation;
  /**
   * Runs the call.
   *
   * Yields live output while it runs, and exactly one result, last. Throws a
   * `DevtoolError` when it fails without a result. After `signal` aborts, it
   * ends soon, together with all processes that it started.
   *
   * `trace` is the place of the call in a trace, for what it calls. Default:
   * the server records no traces. `place` is the call in its task.
   */
  execute(
    signal: AbortSignal,
    trace?: TraceContext,
    place?: CallPlace,
  ): AsyncIterable<ToolEvent>;
}

/** A running call in the log of its task. */
export interface CallPlace {
  readonly toolCallId: string;
  /** Whether the call has begun before, and its server stopped meanwhile. */
  readonly isResumed: boolean;
  /** The current state of the task. */
  readonly task: Task;
}

/** An event of a running call. */
export type ToolEvent =
  /** The whole output so far, which replaces the previous one. */
  | { readonly case: "live"; readonly value: string }
  /** The progress of the call. */
  | { readonly case: "progress"; readonly value: ToolCallProgress }
  /** The process of the call, and the name of its sandbox. */
  | {
      readonly case: "process";
      readonly value: { readonly pid: number; readonly sandbox: string };
    }
  /** Where the work of the call is done. */
  | { readonly case: "delegation"; readonly value: CallDelegation }
  /**
   * A question of the agent that does the work. `reply` is called once, unless
   * the call is aborted or the question withdrawn before; it returns what became
   * of the answer.
   */
  | {
      readonly case: "lastingQuestion";
      readonly value: LastingQuestion;
      readonly reply: (answer: LastingAnswer) => Promise<AnswerFate>;
      /** Whether an answer was given already, so that this asks for another. */
      readonly isGiven: (answerId: string) => boolean;
      /** Whether an answer to an earlier question had arrived before a restart. */
      readonly hasArrived: (answerId: string) => boolean;
      /** Aborts when the answer is no longer wanted. */
      readonly withdrawn: AbortSignal;
    }
  /** Nothing is asked any more: ends the lasting questions. */
  | {
      readonly case: "questionsOver";
      /** As for a lasting question. */
      readonly hasArrived: (answerId: string) => boolean;
    }
  /**
   * A question for the user. `reply` is called once, unless the call is aborted
   * or the question withdrawn before.
   */
  | {
      readonly case: "question";
      readonly value: Question;
      readonly reply: (answer: Answer) => void;
      /** Aborts when the answer is no longer wanted. */
      readonly withdrawn: AbortSignal;
    }
  /**
   * A request to the agent's model, which the user has agreed to. `reply` is
   * called once, unless the call is aborted before.
   */
  | {
      readonly case: "sample";
      readonly value: SampleRequest;
      readonly reply: (response: Promise<SampleResponse>) => void;
      /** Aborts when the response is no longer wanted. */
      readonly withdrawn: AbortSignal;
    }
  /** The outcome: `output` for a successful call, `error` for a failed one. */
  | {
      readonly case: "result";
      readonly value: ToolResult;
      /** Images and sounds of the result, for models. Default: none. */
      readonly files?: readonly File[];
    };

/** The outcome of a call, in the form of `ToolCall.result`. */
export type ToolResult = Exclude<ToolCall["result"], { case: undefined }>;

/**
 * A question of a running call for the user. It is published as a tool call of
 * its own that needs approval.
 */
export interface Question {
  /** One line that describes the question. */
  readonly description: string;
  /** The details that the user sees. */
  readonly details: ConfirmationRequest["details"];
  /** The possible answers. One of them has the id `cancel`. */
  readonly options: readonly ConfirmationOption[];
}

/** The user's answer to a question. */
export interface Answer {
  /** The id of the selected option. */
  readonly optionId: string;
  /** The text that the user sent with the answer. Empty when there was none. */
  readonly text: string;
}

/**
 * A question that outlives a restart of the server: another task asks it, and an
 * answer in the log is given to that task until it has it.
 */
export interface LastingQuestion extends Question {
  /** What asks it: unique among the questions of the call that wait. */
  readonly key: string;
  /** SHA-256 of all that is shown. An answer counts for this digest alone. */
  readonly digest: Uint8Array;
  /** Who asks. */
  readonly delegation: CallDelegation;
  /** The arguments of the call that asks. */
  readonly args: JsonObject;
  /** Whether the user may write other arguments. */
  readonly argumentsEditable: boolean;
  /** Why it is asked again. Empty for the first time. */
  readonly reason: string;
}

/** The user's answer to a `LastingQuestion`. */
export interface LastingAnswer extends Answer {
  /** Identifies the answer: a retry has the same id. */
  readonly answerId: string;
  /** The content of a file that the user wrote in place of the proposed one. */
  readonly newContent: string | undefined;
  /** The arguments that the user wrote in place of those of the call. */
  readonly modifiedArguments: JsonObject | undefined;
}

/**
 * What became of an answer: it was taken, the question will be asked again, or
 * somebody else answered before.
 */
export type AnswerFate = "taken" | "asks again" | "too late";

/** A message of a prompt, or of a request to the model. */
export interface McpPromptMessage {
  readonly role: "user" | "assistant";
  /** Text as it is; of any other content, its kind and size. */
  readonly text: string;
}

/** A request of an MCP server to the model (sampling). */
export interface SampleRequest {
  /** Empty when the server gives none. */
  readonly systemPrompt: string;
  readonly messages: readonly McpPromptMessage[];
  /**
   * The maximum number of tokens that the server asks for. Models are not told
   * of it: a response may be longer.
   */
  readonly maxTokens: number;
}

/** The response of the model to a `SampleRequest`. */
export interface SampleResponse {
  /** The name of the model. */
  readonly model: string;
  readonly text: string;
}
