import { create } from "@bufbuild/protobuf";
import {
  AnswerCalls,
  type AnswerReader,
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
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { tokenCount } from "@devtool/internal/token-count";
import type { ToolNames } from "@devtool/internal/tool-names";
import { CitationSchema, UsageSchema } from "@devtool/schema";
import type {
  Response,
  ResponseFunctionToolCall,
  ResponseOutputItem,
  ResponseOutputMessage,
  ResponseReasoningItem,
  ResponseStreamEvent,
} from "openai/resources/responses/responses";
import { pieceFault } from "./openai-error.ts";
import { encodeReasoning } from "./reasoning-signature.ts";

/** How a response ends that is not whole. */
const UNFINISHED: ReadonlySet<string> = new Set([
  "incomplete",
  "failed",
  "cancelled",
]);

/** An event, or a whole response of a server that does not stream. */
type ResponsePiece = ResponseStreamEvent | (Response & { type?: never });

/**
 * Turns the events of one streamed response into ours.
 *
 * Text and thoughts are yielded as they come. Calls are kept until the response
 * has ended well.
 */
export class ResponsesReader implements AnswerReader<ResponsePiece> {
  readonly #names: ToolNames;
  readonly #pieces = new BoundedJoiner();
  readonly #calls = new AnswerCalls();
  readonly #leftOut = new LeftOutContent();
  /** The reasoning that no call has taken yet. */
  #reasoning: ResponseReasoningItem[] = [];
  #refusal = "";
  #hasText = false;
  /** Whether pieces of the message that is not whole yet have come. */
  #hasDelta = false;
  /** The ids of the calls that have come. */
  readonly #ids = new Set<string>();
  #response: Partial<Response> | undefined;

  constructor(names: ToolNames) {
    this.#names = names;
  }

  /** What follows the end does not belong to the answer. */
  get progress(): "open" | "closed" {
    return this.#response ? "closed" : "open";
  }

  *add(event: ResponsePiece): Iterable<ModelEvent> {
    switch (event.type) {
      case "response.output_text.delta":
        return yield* this.#readText(event.delta);
      case "response.output_text.done":
        return yield* this.#readWhole(event.text);
      case "response.reasoning_summary_text.done":
      case "response.reasoning_text.done":
        if (!event.text) return;
        return yield { case: "thought", value: readThought(event.text) };
      case "response.refusal.delta":
        this.#refusal = this.#pieces.join(this.#refusal, event.delta);
        return;
      case "response.output_item.done":
        return yield* this.#readItem(event.item);
      case "response.completed":
      case "response.incomplete":
        return yield* this.#close(event.type, event.response);
      case "response.failed":
        throw pieceFault(event.response.error);
      case "error":
        throw pieceFault(event);
      case undefined:
        return yield* this.#readResponse(event);
      default:
        // The other events announce items whose whole content follows, or
        // belong to tools that are not offered.
        if (typeof event.type !== "string") throw ModelFault.malformed();
    }
  }

  *#readResponse(response: Response): Iterable<ModelEvent> {
    for (const given of response.output) {
      const item = objectField(given);
      const summary = item?.type === "reasoning" ? item.summary : [];
      for (const thought of listOrEmpty(summary).map(objectOrEmpty)) {
        const value = readThought(stringOrEmpty(thought.text));
        yield { case: "thought", value };
      }
      yield* this.#readItem(item);
    }
    yield* this.#close("response.completed", { ...response, output: [] });
  }

  /**
   * Reads the end, with the items that some servers have nowhere else.
   */
  *#close(type: string, given: Response | null): Iterable<ModelEvent> {
    const response: Partial<Response> = objectField(given) ?? {};
    if (response.error) throw pieceFault(response.error);
    for (const item of listField(response.output)) {
      const isCall = item?.type === "function_call";
      if (isCall && !this.#ids.has(item.call_id)) yield* this.#readItem(item);
      if (item?.type === "message" && !this.#hasText) {
        yield* this.#readItem(item);
      }
    }
    const ended = type === "response.incomplete" ? "incomplete" : "completed";
    this.#response = { ...response, status: response.status ?? ended };
  }

  *end(): Iterable<ModelEvent> {
    if (!this.#response) throw ModelFault.interrupted();
    const { incomplete_details, status, usage } = this.#response;
    if (status !== undefined && UNFINISHED.has(status)) {
      const { reason = status } = incomplete_details ?? {};
      if (reason === "max_output_tokens") throw stopFault("output-limit");
      throw reason === "content_filter"
        ? stopFault("safety")
        : stopFault({ reason });
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

  *#readText(text: string | null): Iterable<ModelEvent> {
    if (!text) return;
    this.#hasDelta = true;
    this.#hasText = true;
    yield { case: "text", value: text };
  }

  /** Reads a text that is whole, unless its pieces have come. */
  *#readWhole(text: string): Iterable<ModelEvent> {
    if (!this.#hasDelta) yield* this.#readText(text);
  }

  *#readItem(
    given: ResponseOutputItem | null | undefined,
  ): Iterable<ModelEvent> {
    const item = objectField(given);
    if (!item) return;
    switch (item.type) {
      case "reasoning":
        this.#reasoning.push(item);
        return;
      case "function_call":
        return this.#addCall(item);
      case "message":
        return yield* this.#readMessage(item);
      default:
        yield* this.#leftOut.add(item.type);
    }
  }

  #addCall({ call_id: id, name, arguments: args }: ResponseFunctionToolCall) {
    const kept = this.#reasoning.filter(
      ({ encrypted_content }) => encrypted_content,
    );
    const signature = kept.length > 0 ? encodeReasoning(kept) : undefined;
    this.#reasoning = [];
    this.#ids.add(id);
    this.#calls.add({ id, name: this.#names.decode(name), args, signature });
  }

  *#readMessage(message: ResponseOutputMessage): Iterable<ModelEvent> {
    const parts = listField(message.content).map((part) =>
      objectOrEmpty(objectField(part)),
    );
    const texts = parts.map(({ text }) => text ?? "");
    if (!texts.every((text) => typeof text === "string")) {
      throw ModelFault.malformed();
    }
    yield* this.#readWhole(texts.join(""));
    this.#hasDelta = false;
    for (const { annotations, refusal } of parts) {
      this.#refusal ||= stringOrEmpty(refusal);
      for (const annotation of listOrEmpty(annotations).map(objectOrEmpty)) {
        const [uri, title] = [annotation.url, annotation.title];
        if (annotation.type !== "url_citation") continue;
        yield {
          case: "citation",
          value: create(CitationSchema, {
            uri: stringOrEmpty(uri),
            title: stringOrEmpty(title),
          }),
        };
      }
    }
  }
}
