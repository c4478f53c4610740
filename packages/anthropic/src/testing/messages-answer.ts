import { createHash } from "node:crypto";
import type Anthropic from "@anthropic-ai/sdk";
import {
  type AnswerContext,
  type Content,
  halves,
  type Plan,
  type PlannedCall,
  type StreamEncoder,
} from "@devtool/coding-agent/testing/fake-model";
import { isObject, objectOrEmpty } from "@devtool/internal/json";

type Body = Readonly<Record<string, unknown>>;

/** Encodes a message in one piece. */
export function encodeMessage(
  plan: Plan,
  body: Body,
  context: AnswerContext,
): Anthropic.Message {
  const stream = new MessageStream(body, context);
  for (const item of plan.items) {
    if (item.case !== "pause" && item.case !== "drip") stream.add(item);
  }
  return stream.finish(plan);
}

/** Returns the encoder of a streamed message. */
export function streamMessage(
  body: Body,
  context: AnswerContext,
): StreamEncoder {
  const stream = new MessageStream(body, context);
  const take = (): string =>
    stream
      .takeEvents()
      .map(
        (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
      )
      .join("");
  return {
    begin: () => {
      stream.begin();
      return `${take()}event: ping\ndata: {"type": "ping"}\n\n`;
    },
    content: (content) => {
      stream.add(content);
      return take();
    },
    end: (plan) => {
      stream.end(plan);
      return take();
    },
    malformed:
      'event: content_block_delta\ndata: {"type": "content_block_delta", "delta": \n\n',
    aroundText: [
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"',
      '"}}\n\n',
    ],
  };
}

/** Returns the signature that the fake gives with a thought. */
export function signThought(text: string): string {
  return createHash("sha256").update(`thought ${text}`).digest("base64");
}

/**
 * A message while it is generated: its blocks so far, and the events that
 * announce them.
 */
class MessageStream {
  readonly #context: AnswerContext;
  readonly #thinks: boolean;
  readonly #content: Anthropic.ContentBlock[] = [];
  #events: Anthropic.RawMessageStreamEvent[] = [];
  #tokens = 0;
  #thoughtTokens = 0;
  /** The text of the open block. */
  #text: string | undefined;

  constructor({ thinking }: Body, context: AnswerContext) {
    this.#context = context;
    this.#thinks = isObject(thinking) && thinking.type !== "disabled";
  }

  takeEvents(): Anthropic.RawMessageStreamEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  begin(): void {
    this.#events.push({
      type: "message_start",
      message: { ...this.#message(null), content: [] },
    });
  }

  add(content: Content): void {
    switch (content.case) {
      case "text":
        this.#tokens++;
        this.#addText(content.text);
        return;
      case "thought":
        if (this.#thinks) this.#addThought(content.text);
        return;
      case "calls":
        this.#tokens++;
        for (const call of content.calls) this.#addCall(call);
        return;
      default:
        content satisfies never;
    }
  }

  end(plan: Plan): void {
    const { stop_reason, stop_details } = this.finish(plan);
    const delta = {
      container: null,
      stop_details,
      stop_reason,
      stop_sequence: null,
    };
    this.#events.push(
      { type: "message_delta", delta, usage: { ...this.#usage() } },
      { type: "message_stop" },
    );
  }

  /** Closes what is open and returns the whole message. */
  finish({ end }: Plan): Anthropic.Message {
    this.#closeText();
    return this.#message(
      stopReason(end.case === "finish" ? end.reason : "STOP", this.#content),
    );
  }

  #addText(text: string): void {
    const index = this.#content.length;
    if (this.#text === undefined) {
      this.#text = "";
      this.#events.push({
        type: "content_block_start",
        index,
        content_block: { type: "text", text: "", citations: null },
      });
    }
    this.#text += text;
    this.#events.push({
      type: "content_block_delta",
      index,
      delta: { type: "text_delta", text },
    });
  }

  #closeText(): void {
    if (this.#text === undefined) return;
    this.#close({ type: "text", text: this.#text, citations: null });
    this.#text = undefined;
  }

  #close(block: Anthropic.ContentBlock): void {
    this.#events.push({
      type: "content_block_stop",
      index: this.#content.length,
    });
    this.#content.push(block);
  }

  #addThought(thinking: string): void {
    this.#closeText();
    this.#tokens++;
    this.#thoughtTokens++;
    const index = this.#content.length;
    const signature = signThought(thinking);
    const begun = { type: "thinking", thinking: "", signature: "" } as const;
    this.#events.push({
      type: "content_block_start",
      index,
      content_block: begun,
    });
    for (const half of halves(thinking)) {
      this.#events.push({
        type: "content_block_delta",
        index,
        delta: { type: "thinking_delta", thinking: half },
      });
    }
    this.#events.push({
      type: "content_block_delta",
      index,
      delta: { type: "signature_delta", signature },
    });
    this.#close({ type: "thinking", thinking, signature });
  }

  #addCall({ id: callId, name, args }: PlannedCall): void {
    this.#closeText();
    const index = this.#content.length;
    // `checkThoughts` reads in the id whether the call must come back with a
    // thought.
    const id = `toolu_${this.#thoughtTokens > 0 ? "thought_" : ""}${callId}`;
    const block = {
      type: "tool_use",
      id,
      name,
      caller: { type: "direct" },
    } as const;
    this.#events.push({
      type: "content_block_start",
      index,
      content_block: { ...block, input: {} },
    });
    for (const partial_json of ["", ...halves(JSON.stringify(args))]) {
      this.#events.push({
        type: "content_block_delta",
        index,
        delta: { type: "input_json_delta", partial_json },
      });
    }
    this.#close({ ...block, input: objectOrEmpty(args) });
  }

  #message(stop_reason: Anthropic.StopReason | null): Anthropic.Message {
    const isRefused = stop_reason === "refusal";
    return {
      id: `msg_${this.#context.serial}`,
      type: "message",
      role: "assistant",
      model: this.#context.model,
      content: [...this.#content],
      container: null,
      diagnostics: null,
      stop_reason,
      stop_details: isRefused
        ? { type: "refusal", category: "general_harms", explanation: null }
        : null,
      stop_sequence: null,
      usage: {
        ...this.#usage(),
        cache_creation: null,
        inference_geo: null,
        service_tier: "standard",
        speed: null,
        input_tokens: this.#context.inputTokens,
      },
    };
  }

  #usage(): Anthropic.MessageDeltaUsage {
    return {
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      input_tokens: this.#context.inputTokens,
      output_tokens: this.#tokens,
      output_tokens_details: { thinking_tokens: this.#thoughtTokens },
      server_tool_use: null,
    };
  }
}

function stopReason(
  reason: string,
  content: readonly Anthropic.ContentBlock[],
): Anthropic.StopReason {
  switch (reason) {
    case "STOP":
      return content.some(({ type }) => type === "tool_use")
        ? "tool_use"
        : "end_turn";
    case "MAX_TOKENS":
      return "max_tokens";
    case "CONTEXT":
      return "model_context_window_exceeded";
    case "PAUSE":
      return "pause_turn";
    default:
      return "refusal";
  }
}
