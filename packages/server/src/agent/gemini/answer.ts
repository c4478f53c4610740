import { create, type JsonObject } from "@bufbuild/protobuf";
import { CitationSchema, DEFAULT_LIMITS, parseJson, type Usage, UsageSchema } from "@devtool/schema";
import type {
  Candidate,
  FunctionCall,
  GenerateContentResponse,
  GenerateContentResponseUsageMetadata,
  Part,
} from "@google/genai";
import { Code } from "../../errors.ts";
import type { ModelEvent, ModelToolCall } from "../model.ts";
import { GeminiFault } from "./gemini-fault.ts";
import { decodeSignature } from "./signature.ts";
import { blockFault, stopFault } from "./stop-reason.ts";
import { thoughtFrom } from "./thought.ts";

/** The arguments of a call may have so many bytes. */
const MAX_ARGUMENT_BYTES = 1024 * 1024;

/**
 * Reads an answer piece by piece. Calls are held until it has ended well: of an answer that breaks off, none runs.
 */
export class Answer {
  readonly #calls: ModelToolCall[] = [];
  readonly #callIds = new Set<string>();
  readonly #sources = new Set<string>();
  #usage: GenerateContentResponseUsageMetadata | undefined;
  #finish: { readonly reason: string; readonly words: string } | undefined;
  #began = false;

  /** The calls so far. */
  get calls(): readonly ModelToolCall[] {
    return this.#calls;
  }

  /** Takes a piece and gives what it says. Throws a `GeminiFault` for a piece that cannot be used. */
  *add({ candidates, promptFeedback, usageMetadata }: GenerateContentResponse): Iterable<ModelEvent> {
    if (promptFeedback?.blockReason) {
      throw blockFault(promptFeedback.blockReason, promptFeedback.blockReasonMessage ?? "");
    }
    if (usageMetadata) this.#usage = usageMetadata;
    const candidate = candidates?.[0];
    if (!candidate) return;
    for (const part of candidate.content?.parts ?? []) yield* this.#part(part);
    yield* this.#citations(candidate);
    if (candidate.finishReason) this.#finish = { reason: candidate.finishReason, words: candidate.finishMessage ?? "" };
  }

  /** Ends the answer and gives what was held. Throws a `GeminiFault` when it did not end well. */
  *end(): Iterable<ModelEvent> {
    if (!this.#finish) throw incomplete();
    const fault = stopFault(this.#finish.reason, this.#finish.words);
    if (fault) throw fault;
    if (!this.#began) throw empty();
    if (this.#usage) yield { case: "usage", value: usageFrom(this.#usage) };
    for (const value of this.#calls) yield { case: "toolCall", value };
  }

  *#part({ text, thought, functionCall, thoughtSignature }: Part): Iterable<ModelEvent> {
    if (functionCall) return this.#call(functionCall, thoughtSignature);
    if (!text) return;
    if (thought) return yield { case: "thought", value: thoughtFrom(text) };
    this.#began = true;
    yield { case: "text", value: text };
  }

  /** Keeps a call. One that comes twice under one id is one call. */
  #call({ id, name, args }: FunctionCall, signature: string | undefined): void {
    if (id !== undefined && this.#callIds.has(id)) return;
    if (id !== undefined) this.#callIds.add(id);
    if (!name)
      throw new GeminiFault("the model called a tool without a name: send the message again", Code.Unavailable);
    this.#began = true;
    const call = { name, args: argumentsOf(name, args ?? {}) };
    this.#calls.push(signature ? { ...call, signature: decodeSignature(signature) } : call);
  }

  *#citations({ citationMetadata, groundingMetadata }: Candidate): Iterable<ModelEvent> {
    const grounding = groundingMetadata?.groundingChunks?.flatMap(({ web }) => (web ? [web] : [])) ?? [];
    for (const source of [...(citationMetadata?.citations ?? []), ...grounding]) {
      const { uri = "", title = "" } = source;
      const license = "license" in source ? (source.license ?? "") : "";
      if (this.#sources.has(uri + title)) continue;
      this.#sources.add(uri + title);
      yield { case: "citation", value: create(CitationSchema, { uri, title, license }) };
    }
  }
}

function argumentsOf(name: string, args: Record<string, unknown>): JsonObject {
  const text = JSON.stringify(args);
  try {
    const value = parseJson(text, { ...DEFAULT_LIMITS, maxBytes: MAX_ARGUMENT_BYTES });
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : "cannot be read";
    const message = `the arguments of the model's call ${JSON.stringify(name)} are too large: ${problem}`;
    throw new GeminiFault(message, Code.ResourceExhausted, { cause });
  }
  throw new GeminiFault(`the arguments of the model's call ${JSON.stringify(name)} are no object`, Code.Unavailable);
}

function usageFrom(usage: GenerateContentResponseUsageMetadata): Usage {
  const { promptTokenCount, toolUsePromptTokenCount, cachedContentTokenCount } = usage;
  const { candidatesTokenCount, thoughtsTokenCount } = usage;
  return create(UsageSchema, {
    inputTokens: tokens(promptTokenCount) + tokens(toolUsePromptTokenCount),
    cachedTokens: tokens(cachedContentTokenCount),
    outputTokens: tokens(candidatesTokenCount) + tokens(thoughtsTokenCount),
    thoughtTokens: tokens(thoughtsTokenCount),
  });
}

function tokens(count: number | undefined): bigint {
  return count !== undefined && Number.isSafeInteger(count) && count > 0 ? BigInt(count) : 0n;
}

function incomplete(): GeminiFault {
  const message = "the model's answer ended in the middle: send the message again";
  return new GeminiFault(message, Code.Unavailable, { retriable: true });
}

function empty(): GeminiFault {
  return new GeminiFault("the model gave an empty answer: say more, or choose another model", Code.Unavailable, {
    retriable: true,
  });
}
