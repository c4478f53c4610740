import type { JsonObject } from "@bufbuild/protobuf";
import type { AgentThought, Message } from "@devtool/schema";
import type { ToolDeclaration } from "../tool/tool.ts";

/** What a model is asked. */
export interface ModelRequest {
  /** The conversation in order, as `Task.history` has it; the last message or finished tool call wants an answer. */
  readonly history: readonly Message[];
  /** The tools it may call. */
  readonly tools: readonly ToolDeclaration[];
  /** The directory it works in: an absolute path. */
  readonly workspacePath: string;
}

/** What a model answers, piece by piece. */
export type ModelEvent =
  | { readonly case: "text"; readonly value: string }
  | { readonly case: "thought"; readonly value: AgentThought }
  | { readonly case: "toolCall"; readonly value: ModelToolCall };

/** A tool call as a model asks for it. */
export interface ModelToolCall {
  readonly name: string;
  readonly args: JsonObject;
}

/** Thinks: one call is one step, which ends with tool calls to be run or without, when the model is done. */
export interface Model {
  /** The name shown to clients, for instance `gemini-3-pro`. */
  readonly name: string;
  /** Generates one step. Throws a `DevtoolError` when it cannot; ends soon after `signal` aborts. */
  generate(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}
