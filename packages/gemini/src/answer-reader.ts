import { create, type JsonObject } from "@bufbuild/protobuf";
import type { ModelEvent, ModelToolCall } from "@devtool/coding-agent/model";
import {
  type AgentThought,
  AgentThoughtSchema,
  CitationSchema,
  DEFAULT_LIMITS,
  parseJson,
  type Usage,
  UsageSchema,
} from "@devtool/schema";
import { isObject } from "@devtool/schema/json";
import { Code } from "@devtool/server/agent";
import type {
  Candidate,
  FunctionCall,
  GenerateContentResponse,
  GenerateContentResponseUsageMetadata,
  Part,
} from "@google/genai";
import { GeminiFault } from "./gemini-fault.ts";
import { decodeSignature } from "./signature.ts";
import { blockFault, stopFault } from "./stop-reason.ts";

/** The maximum size of a call's arguments, in bytes. */
const MAX_ARGUMENT_BYTES = 1024 * 1024;

/** One piece of a streamed answer: the fields that are used. */
export type Piece = Pick<GenerateContentResponse, "candidates" | "promptFeedback" | "usageMetadata">;

/**
 * Turns the pieces of one streamed answer into events.
 *
 * Thoughts, text and citations are yielded as they come. Calls are kept until the answer has ended well, so no call of an answer
 * that breaks off runs.
 */
export class AnswerReader {
  readonly #calls: ModelToolCall[] = [];
  readonly #callIds = new Set<string>();
  readonly #citations = new Set<string>();
  #usage: GenerateContentResponseUsageMetadata | undefined;
  #lastCandidate: Candidate | undefined;
  #hasText = false;

  /** Yields the events of a piece. Throws a `GeminiFault` for a piece that cannot be used. */
  *add({ candidates, promptFeedback, usageMetadata }: Piece): Iterable<ModelEvent> {
    if (promptFeedback?.blockReason) throw blockFault(promptFeedback.blockReason, promptFeedback.blockReasonMessage);
    const candidate = candidates?.[0];
    for (const part of candidate?.content?.parts ?? []) yield* this.#readPart(part);
    if (candidate) yield* this.#readCitations(candidate);
    this.#usage = usageMetadata ?? this.#usage;
    if (candidate?.finishReason) this.#lastCandidate = candidate;
  }

  /** Yields the usage and the calls. Throws a `GeminiFault` when the answer did not end well. */
  *end(): Iterable<ModelEvent> {
    const { finishReason, finishMessage } = this.#lastCandidate ?? {};
    if (!finishReason) {
      const remedy = "send the message again";
      throw new GeminiFault("the model's answer ended in the middle", Code.Unavailable, { remedy, retriable: true });
    }
    const fault = stopFault(finishReason, finishMessage);
    if (fault) throw fault;
    if (!this.#hasText && this.#calls.length === 0) {
      const remedy = "say more, or choose another model";
      throw new GeminiFault("the model gave an empty answer", Code.Unavailable, { remedy, retriable: true });
    }
    if (this.#usage) yield { case: "usage", value: readUsage(this.#usage) };
    for (const value of this.#calls) yield { case: "toolCall", value };
  }

  *#readPart({ functionCall, text, thought, thoughtSignature }: Part): Iterable<ModelEvent> {
    if (functionCall) return this.#keepCall(functionCall, thoughtSignature);
    if (!text) return;
    if (thought) return yield { case: "thought", value: readThought(text) };
    this.#hasText = true;
    yield { case: "text", value: text };
  }

  /** Keeps a call. A call that comes twice under one id is kept once. */
  #keepCall({ id = "", name = "", args = {} }: FunctionCall, signature: string | undefined): void {
    if (name === "") {
      const remedy = "send the message again";
      throw new GeminiFault("the model called a tool without a name", Code.Unavailable, { remedy });
    }
    if (id !== "" && this.#callIds.has(id)) return;
    this.#callIds.add(id);
    const call = { name, args: readArguments(name, args) };
    this.#calls.push(signature ? { ...call, signature: decodeSignature(signature) } : call);
  }

  /** Yields the sources that the answer cites, and those that it is grounded on, once each. */
  *#readCitations({ citationMetadata, groundingMetadata }: Candidate): Iterable<ModelEvent> {
    const grounding = groundingMetadata?.groundingChunks ?? [];
    const sources = [
      ...(citationMetadata?.citations ?? []),
      ...grounding.map(({ web = {} }) => ({ ...web, license: "" })),
    ];
    for (const { uri = "", title = "", license = "" } of sources) {
      const key = JSON.stringify([uri, title]);
      if (uri + title === "" || this.#citations.has(key)) continue;
      this.#citations.add(key);
      yield { case: "citation", value: create(CitationSchema, { uri, title, license }) };
    }
  }
}

/** Reads a thought in Gemini's form, `**Subject** description`. A text without a subject is all description. */
export function readThought(text: string): AgentThought {
  const match = /\*\*(.+?)\*\*/s.exec(text);
  const description = match ? text.slice(0, match.index) + text.slice(match.index + match[0].length) : text;
  return create(AgentThoughtSchema, { subject: match?.[1]?.trim() ?? "", description: description.trim() });
}

function readArguments(name: string, args: unknown): JsonObject {
  const subject = `the arguments of the model's call ${JSON.stringify(name)}`;
  try {
    const value = parseJson(JSON.stringify(args), { ...DEFAULT_LIMITS, maxBytes: MAX_ARGUMENT_BYTES });
    if (isObject(value)) return value;
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : "cannot be read";
    throw new GeminiFault(`${subject} are too large: ${problem}`, Code.ResourceExhausted, { cause });
  }
  const remedy = "send the message again";
  throw new GeminiFault(`${subject} are not an object`, Code.Unavailable, { remedy, retriable: true });
}

function readUsage(usage: GenerateContentResponseUsageMetadata): Usage {
  const tokens = (count = 0): bigint => (Number.isSafeInteger(count) && count > 0 ? BigInt(count) : 0n);
  return create(UsageSchema, {
    inputTokens: tokens(usage.promptTokenCount) + tokens(usage.toolUsePromptTokenCount),
    cachedTokens: tokens(usage.cachedContentTokenCount),
    outputTokens: tokens(usage.candidatesTokenCount) + tokens(usage.thoughtsTokenCount),
    thoughtTokens: tokens(usage.thoughtsTokenCount),
  });
}
