import type Anthropic from "@anthropic-ai/sdk";
import { create } from "@bufbuild/protobuf";
import {
  AnswerCalls,
  type AnswerReader,
  BoundedJoiner,
  LeftOutContent,
  type ModelEvent,
  ModelFault,
  objectField,
  readThought,
  stopFault,
} from "@devtool/coding-agent/model";
import { objectOrEmpty } from "@devtool/internal/json";
import { tokenCount } from "@devtool/internal/token-count";
import type { ToolNames } from "@devtool/internal/tool-names";
import { UsageSchema } from "@devtool/schema";
import { encodeThinking, type Thinking } from "./thinking-signature.ts";

/** A block whose pieces are still coming. */
type OpenBlock =
  | { readonly case: "thinking"; text: string; signature: string }
  | {
      readonly case: "call";
      readonly id: string;
      readonly name: string;
      /** The arguments, where a server does not send them in pieces. */
      readonly input: unknown;
      text: string;
    }
  | { readonly case: "left out" };

/** An event, or a whole message of a server that does not stream. */
type MessagePiece = Anthropic.RawMessageStreamEvent | Anthropic.Message;

/**
 * Turns the events of one streamed message into ours.
 *
 * Text is yielded as it comes, a thought when it is whole. Calls are kept until
 * the message has ended well.
 */
export class MessagesReader implements AnswerReader<MessagePiece> {
  readonly #names: ToolNames;
  readonly #pieces = new BoundedJoiner();
  readonly #calls = new AnswerCalls();
  readonly #leftOut = new LeftOutContent();
  /** The open blocks by their index. */
  readonly #open = new Map<number, OpenBlock>();
  /** The thoughts that no call has taken yet. */
  #thoughts: Thinking[] = [];
  #hasText = false;
  #startUsage: Anthropic.Usage | undefined;
  #stop: Anthropic.RawMessageDeltaEvent.Delta | undefined;
  #usage: Anthropic.MessageDeltaUsage | undefined;
  #isWhole = false;

  constructor(names: ToolNames) {
    this.#names = names;
  }

  /** Nothing follows the end of the message. */
  get progress(): "open" | "closed" {
    return this.#isWhole ? "closed" : "open";
  }

  *add(event: MessagePiece): Iterable<ModelEvent> {
    const { type: kind }: { readonly type: unknown } = event;
    // Some servers leave its type out.
    if ("content" in event) return yield* this.#readWhole(event);
    switch (event.type) {
      case "message_start":
        this.#startUsage = objectField(event.message)?.usage;
        return;
      case "content_block_start": {
        const { index } = event;
        const block = objectField(event.content_block);
        // Some servers give every block the same index.
        yield* this.#close(index);
        if (!block) return;
        if (block.type === "text") {
          return yield* this.#readText(block.text);
        } else if (block.type === "thinking") {
          this.#open.set(index, {
            case: "thinking",
            text: block.thinking,
            signature: block.signature,
          });
        } else if (block.type === "redacted_thinking") {
          this.#thoughts.push({ type: block.type, data: block.data });
        } else if (block.type === "tool_use") {
          this.#open.set(index, {
            case: "call",
            id: block.id,
            name: block.name,
            input: block.input,
            text: "",
          });
        } else {
          this.#open.set(index, { case: "left out" });
          yield* this.#leftOut.add(block.type);
        }
        return;
      }
      case "content_block_delta":
        return yield* this.#readDelta(event);
      case "content_block_stop":
        return yield* this.#close(event.index);
      case "message_delta":
        // Some servers send the usage in an event of its own.
        this.#stop = objectField(event.delta)?.stop_reason
          ? event.delta
          : this.#stop;
        this.#usage = event.usage ?? this.#usage;
        return;
      case "message_stop":
        this.#isWhole = true;
        return;
      default:
        // An event of a later version of the API.
        yield* this.#leftOut.add(kind);
    }
  }

  *end(): Iterable<ModelEvent> {
    const [delta, usage] = [this.#stop, this.#usage];
    if (!this.#isWhole || !delta) throw ModelFault.interrupted();
    switch (delta.stop_reason) {
      case "end_turn":
      case "tool_use":
      case "stop_sequence":
        break;
      case "max_tokens":
        throw stopFault("output-limit");
      case "model_context_window_exceeded":
        throw stopFault("context-limit");
      case "refusal":
        throw stopFault(
          "refusal",
          delta.stop_details?.explanation ?? delta.stop_details?.category ?? "",
        );
      default:
        throw delta.stop_reason === null
          ? ModelFault.interrupted()
          : stopFault({ reason: delta.stop_reason });
    }
    for (const index of this.#open.keys()) yield* this.#close(index);
    const calls = this.#calls.end({ hasText: this.#hasText });
    const start = this.#startUsage;
    if (start && usage) {
      // Anthropic does not count the tokens of its cache as input.
      const cachedTokens = tokenCount(
        usage.cache_read_input_tokens ?? start.cache_read_input_tokens,
      );
      const written = tokenCount(
        usage.cache_creation_input_tokens ?? start.cache_creation_input_tokens,
      );
      const value = create(UsageSchema, {
        inputTokens:
          tokenCount(usage.input_tokens ?? start.input_tokens) +
          cachedTokens +
          written,
        cachedTokens,
        outputTokens: tokenCount(usage.output_tokens),
        thoughtTokens: tokenCount(usage.output_tokens_details?.thinking_tokens),
      });
      yield { case: "usage", value };
    }
    yield* calls;
  }

  *#readWhole(message: Anthropic.Message): Iterable<ModelEvent> {
    for (const [index, content_block] of message.content.entries()) {
      yield* this.add({ type: "content_block_start", index, content_block });
    }
    this.#startUsage = this.#usage = message.usage;
    this.#stop = message;
    this.#isWhole = true;
  }

  *#readText(text: string | null): Iterable<ModelEvent> {
    if (!text) return;
    this.#hasText = true;
    yield { case: "text", value: text };
  }

  *#readDelta({
    index,
    delta: given,
  }: Anthropic.RawContentBlockDeltaEvent): Iterable<ModelEvent> {
    const delta = objectField(given);
    const { type, ...others } = objectOrEmpty(delta);
    const open = this.#open.get(index);
    switch (delta?.type) {
      case "text_delta":
        return yield* this.#readText(delta.text);
      case "input_json_delta":
        // The start of the block is missing, and with it the name of the call.
        if (!open) throw ModelFault.malformed();
        if (open.case !== "call") return;
        open.text = this.#pieces.join(open.text, delta.partial_json);
        return;
      case "thinking_delta":
        if (open?.case !== "thinking") return;
        open.text = this.#pieces.join(open.text, delta.thinking);
        return;
      case "signature_delta":
        if (open?.case !== "thinking") return;
        open.signature = this.#pieces.join(open.signature, delta.signature);
        return;
      case "citations_delta":
        return;
      default:
        // The arguments of the call would have a hole.
        if (open?.case === "call") throw ModelFault.malformed();
        if (Object.keys(others).length === 0) return;
        yield* this.#leftOut.add(type);
    }
  }

  *#close(index: number): Iterable<ModelEvent> {
    const open = this.#open.get(index);
    this.#open.delete(index);
    if (open?.case === "thinking") {
      this.#thoughts.push({
        type: "thinking",
        thinking: open.text,
        signature: open.signature,
      });
      if (open.text !== "") {
        yield { case: "thought", value: readThought(open.text) };
      }
    }
    if (open?.case === "call") {
      const signature =
        this.#thoughts.length > 0 ? encodeThinking(this.#thoughts) : undefined;
      this.#thoughts = [];
      const name = this.#names.decode(open.name);
      this.#calls.add({
        id: open.id,
        name,
        args: open.text || open.input,
        signature,
      });
    }
  }
}
