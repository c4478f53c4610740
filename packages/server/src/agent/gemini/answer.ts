import { create, type JsonObject } from "@bufbuild/protobuf";
import { CitationSchema, DEFAULT_LIMITS, parseJson, type Usage, UsageSchema } from "@devtool/schema";
import { Code } from "../../errors.ts";
import type { ModelEvent, ModelToolCall } from "../model.ts";
import { GeminiFault } from "./gemini-fault.ts";
import type { Piece, PiecePart, Source, TokenCounts } from "./piece.ts";
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
  #usage: TokenCounts | undefined;
  #finish: Pick<Piece, "finishReason" | "finishMessage"> | undefined;
  #hasText = false;

  /** The calls so far. */
  get calls(): readonly ModelToolCall[] {
    return this.#calls;
  }

  /** Takes a piece and gives what it says. Throws a `GeminiFault` for a piece that cannot be used. */
  *add(piece: Piece): Iterable<ModelEvent> {
    if (piece.blockReason !== "") throw blockFault(piece.blockReason, piece.blockMessage);
    for (const part of piece.parts) yield* this.#part(part);
    for (const source of piece.sources) yield* this.#source(source);
    this.#usage = piece.usage ?? this.#usage;
    if (piece.finishReason !== "") this.#finish = piece;
  }

  /** Ends the answer and gives what was held. Throws a `GeminiFault` when it did not end well. */
  *end(): Iterable<ModelEvent> {
    if (!this.#finish) throw incomplete();
    const fault = stopFault(this.#finish.finishReason, this.#finish.finishMessage);
    if (fault) throw fault;
    if (!this.#hasText && this.#calls.length === 0) throw empty();
    if (this.#usage) yield { case: "usage", value: usageFrom(this.#usage) };
    for (const value of this.#calls) yield { case: "toolCall", value };
  }

  *#part(part: PiecePart): Iterable<ModelEvent> {
    switch (part.case) {
      case "text":
        this.#hasText = true;
        return yield part;
      case "thought":
        return yield { case: "thought", value: thoughtFrom(part.value) };
      case "call":
        return this.#call(part);
      default:
        part satisfies never;
    }
  }

  /** Keeps a call. One that comes twice under one id is one call. */
  #call({ id, name, args, signature }: Extract<PiecePart, { case: "call" }>): void {
    if (name === "")
      throw new GeminiFault("the model called a tool without a name: send the message again", Code.Unavailable);
    if (id !== "" && this.#callIds.has(id)) return;
    this.#callIds.add(id);
    const call = { name, args: argumentsOf(name, args) };
    this.#calls.push(signature === "" ? call : { ...call, signature: decodeSignature(signature) });
  }

  *#source(source: Source): Iterable<ModelEvent> {
    const key = JSON.stringify([source.uri, source.title]);
    if (this.#sources.has(key)) return;
    this.#sources.add(key);
    yield { case: "citation", value: create(CitationSchema, source) };
  }
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
  throw new GeminiFault(`${call} are no object: send the message again`, Code.Unavailable, { retriable: true });
}

function usageFrom({ prompt, toolUse, cached, answer, thoughts }: TokenCounts): Usage {
  return create(UsageSchema, {
    inputTokens: prompt + toolUse,
    cachedTokens: cached,
    outputTokens: answer + thoughts,
    thoughtTokens: thoughts,
  });
}

function incomplete(): GeminiFault {
  const message = "the model's answer ended in the middle: send the message again";
  return new GeminiFault(message, Code.Unavailable, { retriable: true });
}

function empty(): GeminiFault {
  const message = "the model gave an empty answer: say more, or choose another model";
  return new GeminiFault(message, Code.Unavailable, { retriable: true });
}
