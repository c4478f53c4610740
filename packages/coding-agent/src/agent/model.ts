import type { JsonObject } from "@bufbuild/protobuf";
import type { AgentThought, Citation, Message, Notice, Summary, Usage } from "@devtool/schema";
import type { ToolDeclaration } from "../tool/tool.ts";

/** What a model is asked. */
export interface ModelRequest {
  /**
   * The conversation in order, as `Task.history` has it. `stepStart(history)` says what wants an answer: a message of the
   * user, or the results of the step before. A finished call is a part of the message of its step, and an answer to a
   * question is a message of the user's that holds nothing but the answer: after an approval it is the last. What stands
   * before the last summary is left out, but for the messages that it keeps.
   */
  readonly history: readonly Message[];
  /** The tools it may call. */
  readonly tools: readonly ToolDeclaration[];
  /** The directory it works in: an absolute path. */
  readonly workspacePath: string;
  /** Who it is and what it should know of the workspace: the system instruction, made when it is asked for. */
  readonly instructions: () => Promise<string>;
  /** The name of the model that the session or the message chose; empty takes the server's. */
  readonly model: string;
}

/** What a model answers, piece by piece. */
export type ModelEvent =
  | { readonly case: "text"; readonly value: string }
  | { readonly case: "thought"; readonly value: AgentThought }
  | { readonly case: "toolCall"; readonly value: ModelToolCall }
  | { readonly case: "citation"; readonly value: Citation }
  /** What the step used; at most once, near its end. */
  | { readonly case: "usage"; readonly value: Usage }
  /** Stands for the conversation before it from now on: what a command that compresses gives. */
  | { readonly case: "summary"; readonly value: Summary }
  /** Something to tell the user about the work itself: a wait, a retry. */
  | { readonly case: "notice"; readonly value: Notice };

/** A tool call as a model asks for it. */
export interface ModelToolCall {
  readonly name: string;
  readonly args: JsonObject;
  /** What the model wants to see again with this call (`ToolCallDetail.model_signature`). */
  readonly signature?: Uint8Array;
}

/** Thinks: one call is one step, which ends with tool calls to be run or without, when the model is done. */
export interface Model {
  /** The name shown to clients, for instance `gemini-3-pro`. */
  readonly name: string;
  /** The maximum number of tokens that it can be asked with; undefined for no limit. Long histories are summarized before it. */
  readonly maxInputTokens?: number;
  /** Whether it repeats itself on purpose, as a script does, so that no loop guard stops it. Default false. */
  readonly mayRepeat?: boolean;
  /** The media types that it can be shown beside text and JSON, `image/*` for all of a kind; the agent's card lists them. Default: none. */
  readonly inputModes?: readonly string[];
  /** Generates one step. Throws a `DevtoolError` when it cannot; ends soon after `signal` aborts. */
  generate(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}
