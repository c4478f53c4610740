import { create, type JsonObject } from "@bufbuild/protobuf";
import type { ModelEvent, ModelToolCall } from "@devtool/coding-agent/model";
import { CitationSchema, DEFAULT_LIMITS, parseJson, type Usage, UsageSchema } from "@devtool/schema";
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
import { thoughtFrom } from "./thought.ts";

/** The maximum size of a call's arguments, in bytes. */
const MAX_ARGUMENT_BYTES = 1024 * 1024;

/** A piece of an answer: what is used of it. */
export type Piece = Pick<GenerateContentResponse, "candidates" | "promptFeedback" | "usageMetadata">;

/**
 * Reads an answer piece by piece. Calls are held until it has ended well: of an answer that breaks off, none runs.
 */
export class Answer {
  readonly #calls: ModelToolCall[] = [];
  readonly #callIds = new Set<string>();
  readonly #sources = new Set<string>();
  #usage: GenerateContentResponseUsageMetadata | undefined;
  #finish: Candidate | undefined;
  #hasText = false;

  /** The calls so far. */
  get calls(): readonly ModelToolCall[] {
    return this.#calls;
  }

  /** Takes a piece and gives what it says. Throws a `GeminiFault` for a piece that cannot be used. */
  *add({ candidates, promptFeedback, usageMetadata }: Piece): Iterable<ModelEvent> {
    if (promptFeedback?.blockReason) throw blockFault(promptFeedback.blockReason, promptFeedback.blockReasonMessage);
    const candidate = candidates?.[0];
    for (const part of candidate?.content?.parts ?? []) yield* this.#part(part);
    for (const source of sourcesOf(candidate)) yield* this.#source(source);
    this.#usage = usageMetadata ?? this.#usage;
    if (candidate?.finishReason) this.#finish = candidate;
  }

  /** Ends the answer and gives what was held. Throws a `GeminiFault` when it did not end well. */
  *end(): Iterable<ModelEvent> {
    if (!this.#finish?.finishReason) throw incomplete();
    const fault = stopFault(this.#finish.finishReason, this.#finish.finishMessage);
    if (fault) throw fault;
    if (!this.#hasText && this.#calls.length === 0) throw empty();
    if (this.#usage) yield { case: "usage", value: usageFrom(this.#usage) };
    for (const value of this.#calls) yield { case: "toolCall", value };
  }

  *#part({ functionCall, text, thought, thoughtSignature }: Part): Iterable<ModelEvent> {
    if (functionCall) return this.#call(functionCall, thoughtSignature);
    if (!text) return;
    if (thought) return yield { case: "thought", value: thoughtFrom(text) };
    this.#hasText = true;
    yield { case: "text", value: text };
  }

  /** Keeps a call. One that comes twice under one id is one call. */
  #call({ id = "", name = "", args = {} }: FunctionCall, signature: string | undefined): void {
    if (name === "")
      throw new GeminiFault("the model called a tool without a name", Code.Unavailable, {
        remedy: "send the message again",
      });
    if (id !== "" && this.#callIds.has(id)) return;
    this.#callIds.add(id);
    const call = { name, args: argumentsOf(name, args) };
    this.#calls.push(signature ? { ...call, signature: decodeSignature(signature) } : call);
  }

  *#source(source: Source): Iterable<ModelEvent> {
    const key = JSON.stringify([source.uri, source.title]);
    if (this.#sources.has(key)) return;
    this.#sources.add(key);
    yield { case: "citation", value: create(CitationSchema, source) };
  }
}

/** A source that an answer names. */
interface Source {
  readonly uri: string;
  readonly title: string;
  readonly license: string;
}

/** The sources that are cited, and those that an answer is grounded on. */
function sourcesOf(candidate: Candidate | undefined): Source[] {
  const cited = candidate?.citationMetadata?.citations ?? [];
  const grounding = candidate?.groundingMetadata?.groundingChunks ?? [];
  return [...cited, ...grounding.map(({ web = {} }) => ({ ...web, license: "" }))].flatMap(
    ({ uri = "", title = "", license = "" }) => (uri + title === "" ? [] : [{ uri, title, license }]),
  );
}

function argumentsOf(name: string, args: unknown): JsonObject {
  const call = `the arguments of the model's call ${JSON.stringify(name)}`;
  try {
    const value = parseJson(JSON.stringify(args), { ...DEFAULT_LIMITS, maxBytes: MAX_ARGUMENT_BYTES });
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : "cannot be read";
    throw new GeminiFault(`${call} are too large: ${problem}`, Code.ResourceExhausted, { cause });
  }
  throw new GeminiFault(`${call} are not an object`, Code.Unavailable, {
    remedy: "send the message again",
    retriable: true,
  });
}

function usageFrom(usage: GenerateContentResponseUsageMetadata): Usage {
  return create(UsageSchema, {
    inputTokens: tokens(usage.promptTokenCount) + tokens(usage.toolUsePromptTokenCount),
    cachedTokens: tokens(usage.cachedContentTokenCount),
    outputTokens: tokens(usage.candidatesTokenCount) + tokens(usage.thoughtsTokenCount),
    thoughtTokens: tokens(usage.thoughtsTokenCount),
  });
}

function tokens(count = 0): bigint {
  return Number.isSafeInteger(count) && count > 0 ? BigInt(count) : 0n;
}

function incomplete(): GeminiFault {
  const remedy = "send the message again";
  return new GeminiFault("the model's answer ended in the middle", Code.Unavailable, { remedy, retriable: true });
}

function empty(): GeminiFault {
  const remedy = "say more, or choose another model";
  return new GeminiFault("the model gave an empty answer", Code.Unavailable, { remedy, retriable: true });
}
