import { create } from "@bufbuild/protobuf";
import {
  AnswerCalls,
  type AnswerReader,
  assertRoomForCall,
  interruptedFault,
  LeftOutContent,
  type ModelEvent,
  PieceJoiner,
  readThought,
  stopFault,
  type ToolNames,
  tokenCount,
  unknownStopFault,
} from "@devtool/coding-agent/model";
import { UsageSchema } from "@devtool/schema";
import { objectOrEmpty, stringOrEmpty } from "@devtool/schema/json";
import type { ChatCompletionChunk } from "openai/resources/chat/completions/completions";
import type { CompletionUsage } from "openai/resources/completions";

/** A call whose arguments are still coming. */
interface OpenCall {
  readonly index: number;
  readonly id: string;
  name: string;
  argumentsText: string;
}

/**
 * Turns the chunks of one streamed chat completion into events.
 *
 * Text is yielded as it comes, a thought when it is whole. Calls are kept until
 * the completion has ended well.
 */
export class ChatReader implements AnswerReader<ChatCompletionChunk> {
  readonly #names: ToolNames;
  readonly #pieces = new PieceJoiner();
  readonly #calls: OpenCall[] = [];
  readonly #leftOut = new LeftOutContent();
  #thought = "";
  #refusal = "";
  #hasText = false;
  #finishReason: string | undefined;
  #usage: CompletionUsage | undefined;

  constructor(names: ToolNames) {
    this.#names = names;
  }

  *add({ choices, usage }: ChatCompletionChunk): Iterable<ModelEvent> {
    this.#usage = usage ?? this.#usage;
    // Some servers leave the list out of their last chunk.
    const choice = choices?.[0];
    if (!choice) return;
    const delta: ChatCompletionChunk.Choice.Delta = choice.delta ?? {};
    // OpenAI's API has no field for the reasoning. Other servers name it in two
    // ways.
    const { reasoning_content, reasoning, ...others } = objectOrEmpty(delta);
    for (const kind of ["audio", "images", "function_call"]) {
      if (others[kind]) yield* this.#leftOut.add(kind);
    }
    const thought =
      stringOrEmpty(reasoning_content) || stringOrEmpty(reasoning);
    this.#thought = this.#pieces.join(this.#thought, thought);
    this.#refusal = this.#pieces.join(this.#refusal, delta.refusal ?? "");
    for (const { index, id, function: piece } of delta.tool_calls ?? []) {
      const open = this.#calls.findLast((call) => call.index === index);
      // Some servers give every call the index 0, so another id means another
      // call as well.
      if (!open || (id && id !== open.id)) {
        assertRoomForCall(this.#calls.length);
        const argumentsText = this.#pieces.join("", piece?.arguments ?? "");
        this.#calls.push({
          index,
          id: id ?? "",
          name: piece?.name ?? "",
          argumentsText,
        });
      } else {
        open.name ||= piece?.name ?? "";
        open.argumentsText = this.#pieces.join(
          open.argumentsText,
          piece?.arguments ?? "",
        );
      }
    }
    if (delta.content) {
      yield* this.#takeThought();
      this.#hasText = true;
      yield { case: "text", value: delta.content };
    }
    this.#finishReason = choice.finish_reason ?? this.#finishReason;
  }

  *end(): Iterable<ModelEvent> {
    yield* this.#takeThought();
    if (this.#finishReason === undefined) throw interruptedFault();
    switch (this.#finishReason) {
      case "stop":
      case "tool_calls":
      case "function_call":
        break;
      case "length":
        throw stopFault("output-limit");
      case "content_filter":
        throw stopFault("safety");
      default:
        throw unknownStopFault(this.#finishReason);
    }
    if (this.#refusal !== "") throw stopFault("refusal", this.#refusal);
    const calls = new AnswerCalls();
    for (const { id, name, argumentsText } of this.#calls) {
      calls.add({
        id,
        name: this.#names.decode(name),
        args: argumentsText,
      });
    }
    const events = calls.end({ hasText: this.#hasText });
    if (this.#usage) {
      const {
        prompt_tokens,
        prompt_tokens_details,
        completion_tokens,
        completion_tokens_details,
      } = this.#usage;
      const value = create(UsageSchema, {
        inputTokens: tokenCount(prompt_tokens),
        cachedTokens: tokenCount(prompt_tokens_details?.cached_tokens),
        outputTokens: tokenCount(completion_tokens),
        thoughtTokens: tokenCount(completion_tokens_details?.reasoning_tokens),
      });
      yield { case: "usage", value };
    }
    yield* events;
  }

  *#takeThought(): Iterable<ModelEvent> {
    if (this.#thought === "") return;
    const value = readThought(this.#thought);
    this.#thought = "";
    yield { case: "thought", value };
  }
}
