import { create } from "@bufbuild/protobuf";
import {
  AnswerCalls,
  type AnswerReader,
  LeftOutContent,
  listField,
  type ModelEvent,
  ModelFault,
  objectField,
  readThought,
} from "@devtool/coding-agent/model";
import {
  defined,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { tokenCount } from "@devtool/internal/token-count";
import { CitationSchema, UsageSchema } from "@devtool/schema";
import type {
  Candidate,
  GenerateContentResponse,
  GenerateContentResponseUsageMetadata,
  Part,
} from "@google/genai";
import { blockFault, finishFault } from "./stop-reason.ts";

/** One piece of a streamed answer: the fields that are used. */
export type Piece = Pick<
  GenerateContentResponse,
  "candidates" | "promptFeedback" | "usageMetadata"
>;

/** The reason of a prompt that was not blocked. */
const UNBLOCKED = "BLOCK_REASON_UNSPECIFIED";

/**
 * Turns the pieces of one streamed answer into events.
 *
 * Thoughts, text and citations are yielded as they come. Calls are kept until
 * the answer has ended well, so no call of an answer that breaks off runs.
 */
export class GeminiAnswerReader implements AnswerReader<Piece> {
  readonly #calls = new AnswerCalls();
  readonly #citations = new Set<string>();
  readonly #leftOut = new LeftOutContent();
  #usage: GenerateContentResponseUsageMetadata | undefined;
  #lastCandidate: Candidate | undefined;
  #hasText = false;

  /** The usage may follow the end. */
  get progress(): "open" | "finished" {
    return this.#lastCandidate ? "finished" : "open";
  }

  /**
   * Yields the events of a piece. Throws a `ModelFault` for a piece that cannot
   * be used.
   */
  *add({
    candidates,
    promptFeedback,
    usageMetadata,
  }: Piece): Iterable<ModelEvent> {
    const { blockReason = UNBLOCKED, blockReasonMessage } =
      promptFeedback ?? {};
    if (blockReason && blockReason !== UNBLOCKED) {
      throw blockFault(blockReason, blockReasonMessage);
    }
    const candidate = candidates?.[0];
    for (const given of listField(objectField(candidate?.content)?.parts)) {
      const part = objectField(given);
      if (part) yield* this.#readPart(part);
    }
    yield* this.#readSources(candidate);
    this.#usage = usageMetadata ?? this.#usage;
    if (candidate?.finishReason) this.#lastCandidate = candidate;
  }

  /**
   * Yields the usage and the calls. Throws a `ModelFault` when the answer did
   * not end well.
   */
  *end(): Iterable<ModelEvent> {
    const { finishReason, finishMessage } = this.#lastCandidate ?? {};
    if (!finishReason) throw ModelFault.interrupted();
    const fault = finishFault(finishReason, finishMessage);
    if (fault) throw fault;
    const calls = this.#calls.end({ hasText: this.#hasText });
    const usage = this.#usage;
    if (usage) {
      const thoughtTokens = tokenCount(usage.thoughtsTokenCount);
      const value = create(UsageSchema, {
        inputTokens:
          tokenCount(usage.promptTokenCount) +
          tokenCount(usage.toolUsePromptTokenCount),
        cachedTokens: tokenCount(usage.cachedContentTokenCount),
        outputTokens: tokenCount(usage.candidatesTokenCount) + thoughtTokens,
        thoughtTokens,
      });
      yield { case: "usage", value };
    }
    yield* calls;
  }

  *#readPart({
    functionCall,
    text,
    thought,
    thoughtSignature,
    ...others
  }: Part): Iterable<ModelEvent> {
    for (const kind of Object.keys(defined(others))) {
      yield* this.#leftOut.add(kind);
    }
    if (functionCall) {
      const { id, name, args } = objectField(functionCall) ?? {};
      // The text is not decoded from base64: Gemini must get back exactly the
      // characters that it sent.
      const signature = thoughtSignature
        ? new TextEncoder().encode(thoughtSignature)
        : undefined;
      this.#calls.add({ id: id ?? "", name: name ?? "", args, signature });
    } else if (text && thought) {
      yield { case: "thought", value: readThought(text) };
    } else if (text) {
      this.#hasText = true;
      yield { case: "text", value: text };
    }
  }

  /**
   * Yields the sources that the answer cites, and those that it is grounded on,
   * once each.
   */
  *#readSources(candidate: Candidate | undefined): Iterable<ModelEvent> {
    const { citationMetadata, groundingMetadata } = objectOrEmpty(candidate);
    const cited = listOrEmpty(objectOrEmpty(citationMetadata).citations);
    const grounds = listOrEmpty(
      objectOrEmpty(groundingMetadata).groundingChunks,
    );
    const found = grounds.map((chunk) => objectOrEmpty(chunk).web);
    for (const source of [...cited, ...found].map(objectOrEmpty)) {
      const uri = stringOrEmpty(source.uri);
      const title = stringOrEmpty(source.title);
      const license = stringOrEmpty(source.license);
      const key = JSON.stringify([uri, title]);
      if (uri + title === "" || this.#citations.has(key)) continue;
      this.#citations.add(key);
      yield {
        case: "citation",
        value: create(CitationSchema, { uri, title, license }),
      };
    }
  }
}
