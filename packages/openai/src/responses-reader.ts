import { create } from "@bufbuild/protobuf";
import {
  AnswerCalls,
  type AnswerReader,
  interruptedFault,
  LeftOutContent,
  type ModelEvent,
  malformedFault,
  PieceJoiner,
  readThought,
  stopFault,
  type ToolNames,
  tokenCount,
  unknownStopFault,
} from "@devtool/coding-agent/model";
import { CitationSchema, UsageSchema } from "@devtool/schema";
import type {
  Response,
  ResponseOutputItem,
  ResponseReasoningItem,
  ResponseStreamEvent,
} from "openai/resources/responses/responses";
import { pieceFault } from "./openai-error.ts";
import { encodeReasoning } from "./reasoning-signature.ts";

/**
 * Turns the events of one streamed response into ours.
 *
 * Text and thoughts are yielded as they come. Calls are kept until the response
 * has ended well.
 */
export class ResponsesReader implements AnswerReader<ResponseStreamEvent> {
  readonly #names: ToolNames;
  readonly #pieces = new PieceJoiner();
  readonly #calls = new AnswerCalls();
  readonly #leftOut = new LeftOutContent();
  /** The reasoning that no call has taken yet. */
  #reasoning: ResponseReasoningItem[] = [];
  #refusal = "";
  #hasText = false;
  #response: Response | undefined;

  constructor(names: ToolNames) {
    this.#names = names;
  }

  *add(event: ResponseStreamEvent): Iterable<ModelEvent> {
    // What follows the end does not belong to the answer.
    if (this.#response) return;
    switch (event.type) {
      case "response.output_text.delta":
        if (event.delta === "") return;
        this.#hasText = true;
        return yield { case: "text", value: event.delta };
      case "response.reasoning_summary_text.done":
      case "response.reasoning_text.done":
        if (event.text === "") return;
        return yield { case: "thought", value: readThought(event.text) };
      case "response.refusal.delta":
        this.#refusal = this.#pieces.join(this.#refusal, event.delta);
        return;
      case "response.output_item.done":
        return yield* this.#readItem(event.item);
      case "response.completed":
      case "response.incomplete":
        this.#response = event.response;
        return;
      case "response.failed":
        throw pieceFault(event.response.error);
      case "error":
        throw pieceFault(event);
      default:
      // The other events announce items whose whole content follows, or belong
      // to tools that are not offered.
    }
  }

  *end(): Iterable<ModelEvent> {
    if (!this.#response) throw interruptedFault();
    const { incomplete_details, status, usage } = this.#response;
    if (status === "incomplete") {
      const { reason = "" } = incomplete_details ?? {};
      if (reason === "max_output_tokens") throw stopFault("output-limit");
      throw reason === "content_filter"
        ? stopFault("safety")
        : unknownStopFault(reason);
    }
    if (this.#refusal !== "") throw stopFault("refusal", this.#refusal);
    const calls = this.#calls.end({ hasText: this.#hasText });
    if (usage) {
      const value = create(UsageSchema, {
        inputTokens: tokenCount(usage.input_tokens),
        // Servers other than OpenAI's leave the details out.
        cachedTokens: tokenCount(usage.input_tokens_details?.cached_tokens),
        outputTokens: tokenCount(usage.output_tokens),
        thoughtTokens: tokenCount(
          usage.output_tokens_details?.reasoning_tokens,
        ),
      });
      yield { case: "usage", value };
    }
    yield* calls;
  }

  *#readItem(item: ResponseOutputItem): Iterable<ModelEvent> {
    if (item.type === "reasoning") {
      this.#reasoning.push(item);
    } else if (item.type === "function_call") {
      const kept = this.#reasoning.filter(
        ({ encrypted_content }) => encrypted_content,
      );
      const signature = kept.length > 0 ? encodeReasoning(kept) : undefined;
      this.#reasoning = [];
      const { call_id: id, arguments: args } = item;
      if (args && typeof args !== "string") throw malformedFault();
      this.#calls.add({
        id,
        name: this.#names.decode(item.name),
        args,
        signature,
      });
    } else if (item.type !== "message") {
      yield* this.#leftOut.add(item.type);
      return;
    }
    if (item.type !== "message") return;
    for (const part of item.content) {
      if (part.type !== "output_text") continue;
      for (const annotation of part.annotations) {
        if (annotation.type !== "url_citation") continue;
        const { url: uri, title } = annotation;
        yield {
          case: "citation",
          value: create(CitationSchema, { uri, title }),
        };
      }
    }
  }
}
