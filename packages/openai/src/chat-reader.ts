import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  AnswerCalls,
  type AnswerReader,
  assertRoomForCall,
  BoundedJoiner,
  LeftOutContent,
  listField,
  type ModelEvent,
  ModelFault,
  objectField,
  readThought,
  stopFault,
} from "@devtool/coding-agent/model";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { tokenCount } from "@devtool/internal/token-count";
import type { ToolNames } from "@devtool/internal/tool-names";
import { UsageSchema } from "@devtool/schema";
import type { ChatCompletionChunk } from "openai/resources/chat/completions/completions";
import type { CompletionUsage } from "openai/resources/completions";

/** A call whose arguments are still coming. */
interface OpenCall {
  readonly index: number;
  readonly id: string;
  name: string;
  /** Their text as far as it came, or an object. */
  args: unknown;
}

/** A choice as it is in a chunk, or in an answer that comes in one piece. */
interface WholeChoice extends ChatCompletionChunk.Choice {
  readonly message?: ChatCompletionChunk.Choice.Delta;
}

type ToolCallPiece = ChatCompletionChunk.Choice.Delta.ToolCall;

/** Whether a piece of arguments begins an object where another one ended. */
function beginsAnother(before: unknown, piece: unknown): boolean {
  const isWhole = isObject(before) || stringOrEmpty(before).endsWith("}");
  return isWhole && (isObject(piece) || stringOrEmpty(piece).startsWith("{"));
}

/**
 * Turns the chunks of one streamed chat completion into events.
 *
 * Text is yielded as it comes, a thought when it is whole. Calls are kept until
 * the completion has ended well.
 */
export class ChatReader implements AnswerReader<ChatCompletionChunk> {
  readonly #names: ToolNames;
  readonly #pieces = new BoundedJoiner();
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

  /** The usage may follow the end. */
  get progress(): "open" | "finished" {
    return this.#finishReason === undefined ? "open" : "finished";
  }

  *add({ choices, usage }: ChatCompletionChunk): Iterable<ModelEvent> {
    this.#usage = usage ?? this.#usage;
    // Some servers leave the list out of their last chunk.
    const choice: WholeChoice | undefined = choices?.[0];
    if (!choice) return;
    const delta = objectField(choice.delta ?? choice.message) ?? {};
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
    for (const piece of listField(delta.tool_calls)) this.#addToCall(piece);
    yield* this.#readContent(delta.content);
    // Some servers send an empty reason in place of none.
    this.#finishReason = choice.finish_reason || this.#finishReason;
  }

  *end(): Iterable<ModelEvent> {
    yield* this.#takeThought();
    if (this.#finishReason === undefined) throw ModelFault.interrupted();
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
        throw stopFault({ reason: this.#finishReason });
    }
    if (this.#refusal !== "") throw stopFault("refusal", this.#refusal);
    const calls = new AnswerCalls();
    for (const { id, name, args } of this.#calls) {
      calls.add({
        id,
        name: this.#names.decode(name),
        args,
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

  /** Reads the text, which Mistral sends as parts where the model thinks. */
  *#readContent(content: unknown): Iterable<ModelEvent> {
    if (Array.isArray(content)) {
      for (const part of content) {
        yield* this.#readPart(objectField(part) ?? {});
      }
    } else if (content) {
      yield* this.#takeThought();
      this.#hasText = true;
      if (typeof content !== "string") throw ModelFault.malformed();
      yield { case: "text", value: content };
    }
  }

  *#readPart({ type, text, thinking }: JsonObject): Iterable<ModelEvent> {
    if (type === "text") {
      yield* this.#readContent(text);
    } else if (type === "thinking") {
      const thoughts = listOrEmpty(thinking).map(objectOrEmpty);
      const thought = thoughts.map((one) => stringOrEmpty(one.text)).join("");
      this.#thought = this.#pieces.join(this.#thought, thought);
    } else {
      yield* this.#leftOut.add(stringOrEmpty(type));
    }
  }

  /** Begins a call with a piece, or adds the piece to the one it goes on. */
  #addToCall(given: ToolCallPiece | null): void {
    const piece = objectField(given);
    if (!piece) return;
    const { id } = piece;
    const { name, arguments: args } = objectField(piece.function) ?? {};
    const open = this.#openCallOf(piece);
    if (open) {
      open.name ||= name ?? "";
      open.args = this.#joinArguments(open.args, args);
      return;
    }
    assertRoomForCall(this.#calls.length);
    this.#calls.push({
      index: piece.index,
      id: id ?? "",
      name: name ?? "",
      args: this.#joinArguments("", args),
    });
  }

  /**
   * Returns the call that a piece goes on. Undefined for the first piece of a
   * call.
   *
   * Servers leave the index out or give every call the index 0, and leave the
   * id out or give every piece its own. A piece with a name begins a call then
   * if its id is another one, or if the call before it is whole.
   */
  #openCallOf({ index, id, function: piece }: ToolCallPiece) {
    const open = this.#calls.findLast(
      (call) => (index ?? call.index) === call.index,
    );
    if (!open || !piece?.name || open.name === "") return open;
    if (id) return id === open.id ? open : undefined;
    return beginsAnother(open.args, piece.arguments) ? undefined : open;
  }

  /** Joins arguments, which some servers send in one piece as an object. */
  #joinArguments(before: unknown, piece: unknown): unknown {
    if (!piece) return before;
    if (isObject(piece) && before === "") return piece;
    if (typeof before !== "string" || typeof piece !== "string") {
      throw ModelFault.malformed();
    }
    return this.#pieces.join(before, piece);
  }

  *#takeThought(): Iterable<ModelEvent> {
    if (this.#thought === "") return;
    const value = readThought(this.#thought);
    this.#thought = "";
    yield { case: "thought", value };
  }
}
