import { create } from "@bufbuild/protobuf";
import {
  AnswerCalls,
  type AnswerReader,
  interruptedFault,
  LeftOutContent,
  type ModelEvent,
  malformedFault,
  readThought,
  tokenCount,
} from "@devtool/coding-agent/model";
import { CitationSchema, UsageSchema } from "@devtool/schema";
import { defined, isObject } from "@devtool/schema/json";
import type {
  Candidate,
  GenerateContentResponse,
  GenerateContentResponseUsageMetadata,
} from "@google/genai";
import { blockFault, stopFault } from "./stop-reason.ts";

/** One piece of a streamed answer: the fields that are used. */
export type Piece = Pick<
  GenerateContentResponse,
  "candidates" | "promptFeedback" | "usageMetadata"
>;

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

  /**
   * Yields the events of a piece. Throws a `ModelFault` for a piece that cannot
   * be used.
   */
  *add({
    candidates,
    promptFeedback,
    usageMetadata,
  }: Piece): Iterable<ModelEvent> {
    if (promptFeedback?.blockReason) {
      throw blockFault(
        promptFeedback.blockReason,
        promptFeedback.blockReasonMessage,
      );
    }
    const candidate = candidates?.[0];
    for (const {
      functionCall,
      text,
      thought,
      thoughtSignature,
      ...others
    } of candidate?.content?.parts ?? []) {
      for (const kind of Object.keys(defined(others))) {
        yield* this.#leftOut.add(kind);
      }
      if (functionCall) {
        const { id = "", name = "", args } = functionCall;
        if (args && !isObject(args)) throw malformedFault();
        // The text is not decoded from base64: Gemini must get back exactly the
        // characters that it sent.
        const signature = thoughtSignature
          ? new TextEncoder().encode(thoughtSignature)
          : undefined;
        this.#calls.add({
          id,
          name,
          args,
          signature,
        });
      } else if (text && thought) {
        yield { case: "thought", value: readThought(text) };
      } else if (text) {
        this.#hasText = true;
        yield { case: "text", value: text };
      }
    }
    // The sources that the answer cites, and those that it is grounded on, are
    // yielded once each.
    const grounding = candidate?.groundingMetadata?.groundingChunks ?? [];
    const sources = [
      ...(candidate?.citationMetadata?.citations ?? []),
      ...grounding.map(({ web = {} }) => ({ ...web, license: "" })),
    ];
    for (const { uri = "", title = "", license = "" } of sources) {
      const key = JSON.stringify([uri, title]);
      if (uri + title === "" || this.#citations.has(key)) continue;
      this.#citations.add(key);
      yield {
        case: "citation",
        value: create(CitationSchema, { uri, title, license }),
      };
    }
    this.#usage = usageMetadata ?? this.#usage;
    if (candidate?.finishReason) this.#lastCandidate = candidate;
  }

  /**
   * Yields the usage and the calls. Throws a `ModelFault` when the answer did
   * not end well.
   */
  *end(): Iterable<ModelEvent> {
    const { finishReason, finishMessage } = this.#lastCandidate ?? {};
    if (!finishReason) throw interruptedFault();
    const fault = stopFault(finishReason, finishMessage);
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
}
