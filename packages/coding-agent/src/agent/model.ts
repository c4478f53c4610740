import type { JsonObject } from "@bufbuild/protobuf";
import type {
  AgentThought,
  Citation,
  Message,
  Notice,
  Summary,
  Usage,
} from "@devtool/schema";
import type { OfferedModel, Turn } from "@devtool/server/agent";
import type { ToolDeclaration } from "../tool/tool.ts";

/** The input of one step of a model. */
export interface ModelRequest {
  /**
   * The conversation in order, in the form of `Task.history`.
   *
   * `stepStart(history)` returns the part that the model has to respond to: a
   * message from the user, or the results of the previous step's tool calls. A
   * finished call is a part of the message of its step. An answer to a
   * confirmation request is a user message that contains only the answer, so
   * after an approval such a message is the last one.
   *
   * Messages before the last summary are left out, except for those that the
   * summary keeps.
   */
  readonly history: readonly Message[];
  /**
   * The tools that the model may call. Empty for steps that only write text,
   * such as summaries.
   */
  readonly tools: readonly ToolDeclaration[];
  /**
   * The absolute path of the workspace. Empty for a conversation without one,
   * and for requests of MCP servers (sampling).
   */
  readonly workspacePath: string;
  /**
   * Returns the system instruction: the agent's role and what it should know
   * about the workspace.
   *
   * It is computed on the first call, so a model that does not need it does not
   * pay for it.
   */
  readonly instructions: () => Promise<string>;
  /**
   * The name of the model that the session or the message chose. Empty for the
   * server's default.
   */
  readonly model: string;
}

/** The input of one step of a turn. */
export interface StepRequest extends ModelRequest {
  /** `Turn.beginStep` of the turn that pays for the requests to a model. */
  readonly beginStep: Turn["beginStep"];
  /** `Turn.traceContext` of the turn. */
  readonly traceContext: Turn["traceContext"];
}

/** A piece of a model's output. */
export type ModelEvent =
  | { readonly case: "text"; readonly value: string }
  | { readonly case: "thought"; readonly value: AgentThought }
  | { readonly case: "toolCall"; readonly value: ModelToolCall }
  | { readonly case: "citation"; readonly value: Citation }
  /**
   * The tokens that the step used. Sent at most once, near the end of the step.
   */
  | { readonly case: "usage"; readonly value: Usage }
  /**
   * A summary that replaces the conversation before it from now on. Sent by a
   * command that compresses the history.
   */
  | { readonly case: "summary"; readonly value: Summary }
  /**
   * Information for the user about the work itself, for instance a wait or a
   * retry.
   */
  | { readonly case: "notice"; readonly value: Notice };

/** A tool call that a model requests. */
export interface ModelToolCall {
  readonly name: string;
  readonly args: JsonObject;
  /**
   * Opaque data that the model needs back with this call later
   * (`ToolCallDetail.model_signature`).
   */
  readonly signature?: Uint8Array;
  /** Why the call must not run: it fails with this text. */
  readonly problem?: string;
}

/**
 * Produces the steps of a turn. A step is one call of `generate`.
 *
 * A step that requests tool calls is followed by another one, once the calls
 * have ended. A step without tool calls ends the turn. Both models and slash
 * commands are step sources, so their tool calls go through the same policy and
 * approvals, and both resume after a restart.
 */
export interface StepSource {
  /**
   * The maximum number of input tokens. Undefined means no limit.
   *
   * The agent summarizes a long history before it reaches this limit.
   */
  readonly maxInputTokens?: number | undefined;
  /**
   * Generates one step.
   *
   * Throws a `DevtoolError` when it fails. Ends soon after `signal` aborts.
   */
  generate(
    request: StepRequest,
    signal: AbortSignal,
  ): AsyncIterable<ModelEvent>;
}

/**
 * A model as the agent has it: each request to it is a step of a turn
 * (`stepModel`).
 */
export interface AgentModel extends StepSource {
  /** The name that clients see. */
  readonly name: string;
}

/**
 * A language model, or anything that takes its place, such as the scripted
 * model.
 */
export interface Model {
  /** The name that clients see, for instance `gemini-3-pro`. */
  readonly name: string;
  /**
   * The maximum number of input tokens. Undefined means no limit.
   *
   * The agent summarizes a long history before it reaches this limit.
   */
  readonly maxInputTokens?: number | undefined;
  /**
   * Who provides the model, as the attribute `gen_ai.provider.name` of
   * OpenTelemetry names it, for instance `anthropic`. Default: not known.
   */
  readonly provider?: string | undefined;
  /**
   * Whether the model repeats itself on purpose, as a script does. The loop
   * guard does not stop such a model.
   *
   * Default: false.
   */
  readonly mayRepeat?: boolean;
  /**
   * The media types of input that the model understands in addition to text and
   * JSON, for instance `image/*`.
   *
   * The agent card lists them. Default: none.
   */
  readonly inputModes?: readonly string[] | undefined;
  /**
   * The only names that `ModelRequest.model` may have; others are refused.
   * Default: any name if the model has `listModels`, otherwise no name.
   */
  readonly names?: readonly string[] | undefined;
  /**
   * Lists the models that `ModelRequest.model` may name. Default: none are
   * known.
   *
   * Throws a `DevtoolError` when they cannot be listed.
   */
  listModels?(signal: AbortSignal): Promise<readonly OfferedModel[]>;
  /**
   * Generates one step of a turn, or a text on behalf of one.
   *
   * Throws a `DevtoolError` when it fails. Ends soon after `signal` aborts.
   */
  generate(
    request: ModelRequest,
    signal: AbortSignal,
  ): AsyncIterable<ModelEvent>;
  /**
   * Loads what the first request needs, which would wait for it otherwise.
   * Default: nothing.
   */
  load?(): Promise<void>;
}
