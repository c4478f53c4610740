import { createHash } from "node:crypto";
import {
  type AnswerContext,
  type Content,
  halves,
  type Plan,
  type PlannedCall,
  type StreamEncoder,
} from "@devtool/fake-model";
import {
  defined,
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/schema/json";
import type {
  Response,
  ResponseOutputItem,
  ResponseOutputMessage,
  ResponseReasoningItem,
  ResponseStreamEvent,
  ResponseUsage,
} from "openai/resources/responses/responses";

type Body = Readonly<Record<string, unknown>>;

/** Encodes a response in one piece. */
export function encodeResponse(
  plan: Plan,
  body: Body,
  context: AnswerContext,
): Response {
  const stream = new ResponseStream(body, context);
  for (const item of plan.items) {
    if (item.case !== "pause" && item.case !== "drip") stream.add(item);
  }
  return stream.finish(plan);
}

/** Returns the encoder of a streamed response. */
export function streamResponse(
  body: Body,
  context: AnswerContext,
): StreamEncoder {
  const stream = new ResponseStream(body, context);
  const take = (): string => stream.takeEvents().map(encodeEvent).join("");
  return {
    begin: () => {
      stream.begin();
      return take();
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
      'event: response.output_text.delta\ndata: {"type": "response.output_text.delta", "delta": \n\n',
    aroundText: [
      'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","item_id":"msg_0","output_index":0,' +
        '"content_index":0,"sequence_number":0,"logprobs":[],"delta":"',
      '"}\n\n',
    ],
  };
}

function encodeEvent(event: ResponseStreamEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** An event without its number. */
type Unnumbered = ResponseStreamEvent extends infer Event
  ? Event extends { sequence_number: number }
    ? Omit<Event, "sequence_number">
    : never
  : never;

/**
 * A response while it is generated: its items so far, and the events that
 * announce them.
 */
class ResponseStream {
  readonly #body: Body;
  readonly #context: AnswerContext;
  readonly #output: ResponseOutputItem[] = [];
  #events: ResponseStreamEvent[] = [];
  #sequence = 0;
  #tokens = 0;
  #thoughtTokens = 0;
  #message: ResponseOutputMessage | undefined;
  #text = "";

  constructor(body: Body, context: AnswerContext) {
    this.#body = body;
    this.#context = context;
  }

  takeEvents(): ResponseStreamEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  begin(): void {
    const response = this.#response("in_progress", null);
    this.#emit({ type: "response.created", response });
    this.#emit({ type: "response.in_progress", response });
  }

  add(content: Content): void {
    this.#tokens++;
    switch (content.case) {
      case "text":
        this.#addText(content.text);
        return;
      case "thought":
        this.#thoughtTokens++;
        this.#addThought(content.text);
        return;
      case "calls":
        for (const call of content.calls) this.#addCall(call);
        return;
      default:
        content satisfies never;
    }
  }

  end(plan: Plan): void {
    const response = this.finish(plan);
    const isWhole = response.status === "completed";
    this.#emit({
      type: isWhole ? "response.completed" : "response.incomplete",
      response,
    });
  }

  /** Closes what is open and returns the whole response. */
  finish({ end, citations }: Plan): Response {
    this.#closeMessage(citations);
    const reason = end.case === "finish" ? end.reason : "STOP";
    if (reason === "STOP") return this.#response("completed", null);
    return this.#response("incomplete", {
      reason: reason === "MAX_TOKENS" ? "max_output_tokens" : "content_filter",
    });
  }

  #emit(event: Unnumbered): void {
    this.#events.push({ ...event, sequence_number: this.#sequence++ });
  }

  #addText(text: string): void {
    const message = this.#message ?? this.#openMessage();
    this.#text += text;
    const place = {
      item_id: message.id,
      output_index: this.#output.length,
      content_index: 0,
    };
    this.#emit({
      type: "response.output_text.delta",
      ...place,
      delta: text,
      logprobs: [],
    });
  }

  #openMessage(): ResponseOutputMessage {
    const id = this.#newId("msg");
    const message: ResponseOutputMessage = {
      id,
      type: "message",
      role: "assistant",
      status: "in_progress",
      content: [],
    };
    const output_index = this.#output.length;
    this.#message = message;
    this.#text = "";
    this.#emit({
      type: "response.output_item.added",
      output_index,
      item: message,
    });
    const part = {
      type: "output_text",
      text: "",
      annotations: [],
      logprobs: [],
    } as const;
    this.#emit({
      type: "response.content_part.added",
      item_id: id,
      output_index,
      content_index: 0,
      part: { ...part, annotations: [], logprobs: [] },
    });
    return message;
  }

  #closeMessage(citations: readonly string[] = []): void {
    if (!this.#message) return;
    const output_index = this.#output.length;
    const place = { item_id: this.#message.id, output_index, content_index: 0 };
    const annotations = citations.map((url) => {
      return {
        type: "url_citation",
        url,
        title: "",
        start_index: 0,
        end_index: this.#text.length,
      } as const;
    });
    const part = {
      type: "output_text" as const,
      text: this.#text,
      annotations,
      logprobs: [],
    };
    annotations.forEach((annotation, annotation_index) => {
      this.#emit({
        type: "response.output_text.annotation.added",
        ...place,
        annotation_index,
        annotation,
      });
    });
    this.#emit({
      type: "response.output_text.done",
      ...place,
      text: this.#text,
      logprobs: [],
    });
    this.#emit({ type: "response.content_part.done", ...place, part });
    this.#closeItem({ ...this.#message, status: "completed", content: [part] });
    this.#message = undefined;
  }

  #closeItem(item: ResponseOutputItem): void {
    this.#emit({
      type: "response.output_item.done",
      output_index: this.#output.length,
      item,
    });
    this.#output.push(item);
  }

  /**
   * Adds reasoning: with a summary if the request asks for one, and encrypted
   * if the request asks for that.
   */
  #addThought(text: string): void {
    this.#closeMessage();
    const id = this.#newId("rs");
    const hasSummary =
      typeof objectOrEmpty(this.#body.reasoning).summary === "string";
    const isEncrypted = listOrEmpty(this.#body.include).includes(
      "reasoning.encrypted_content",
    );
    const begun: ResponseReasoningItem = { id, type: "reasoning", summary: [] };
    const output_index = this.#output.length;
    this.#emit({
      type: "response.output_item.added",
      output_index,
      item: begun,
    });
    const part = { type: "summary_text", text } as const;
    if (hasSummary) {
      const place = { item_id: id, output_index, summary_index: 0 };
      this.#emit({
        type: "response.reasoning_summary_part.added",
        ...place,
        part: { ...part, text: "" },
      });
      for (const delta of halves(text)) {
        this.#emit({
          type: "response.reasoning_summary_text.delta",
          ...place,
          delta,
        });
      }
      this.#emit({
        type: "response.reasoning_summary_text.done",
        ...place,
        text,
      });
      this.#emit({
        type: "response.reasoning_summary_part.done",
        ...place,
        part,
      });
    }
    const item = { ...begun, summary: hasSummary ? [part] : [] };
    this.#closeItem(
      isEncrypted ? { ...item, encrypted_content: encryptReasoning(id) } : item,
    );
  }

  #addCall(call: PlannedCall): void {
    this.#closeMessage();
    if (isCustomTool(this.#body.tools, call.name)) {
      this.#addCustomCall(call);
    } else {
      this.#addFunctionCall(call);
    }
  }

  #addCustomCall({ id: call_id, name, args }: PlannedCall): void {
    const output_index = this.#output.length;
    const id = this.#newId("ctc");
    const input = stringOrEmpty(objectOrEmpty(args).input);
    const item = {
      id,
      type: "custom_tool_call",
      call_id,
      name,
      input,
    } as const;
    this.#emit({
      type: "response.output_item.added",
      output_index,
      item: { ...item, input: "" },
    });
    const place = { item_id: id, output_index };
    for (const delta of halves(input)) {
      this.#emit({
        type: "response.custom_tool_call_input.delta",
        ...place,
        delta,
      });
    }
    this.#emit({
      type: "response.custom_tool_call_input.done",
      ...place,
      input,
    });
    this.#closeItem(item);
  }

  #addFunctionCall({ id: call_id, name, args }: PlannedCall): void {
    const output_index = this.#output.length;
    const id = this.#newId("fc");
    const whole = JSON.stringify(args);
    const item = {
      id,
      type: "function_call",
      call_id,
      name,
      arguments: whole,
      status: "completed",
    } as const;
    this.#emit({
      type: "response.output_item.added",
      output_index,
      item: { ...item, arguments: "", status: "in_progress" },
    });
    const place = { item_id: id, output_index };
    for (const delta of halves(whole)) {
      this.#emit({
        type: "response.function_call_arguments.delta",
        ...place,
        delta,
      });
    }
    // The name is in OpenAI's description of the API, but not in the types of
    // its SDK.
    const done = { ...place, name, arguments: whole };
    this.#emit({ type: "response.function_call_arguments.done", ...done });
    this.#closeItem(item);
  }

  #newId(prefix: string): string {
    return `${prefix}_${this.#context.serial}_${this.#output.length}`;
  }

  #response(
    status: "in_progress" | "completed" | "incomplete",
    incomplete_details: Response.IncompleteDetails | null,
  ): Response {
    const { instructions, tools, parallel_tool_calls } = this.#body;
    const usage = status === "in_progress" ? undefined : this.#usage();
    return defined({
      id: `resp_${this.#context.serial}`,
      object: "response" as const,
      created_at: 0,
      status,
      access_programs: null,
      output_text: "",
      error: null,
      incomplete_details,
      instructions: typeof instructions === "string" ? instructions : null,
      metadata: {},
      model: this.#context.model,
      output: [...this.#output],
      parallel_tool_calls: parallel_tool_calls !== false,
      temperature: 1,
      tool_choice: "auto" as const,
      tools: listOrEmpty(tools).flatMap(describeTool),
      top_p: 1,
      usage,
    });
  }

  #usage(): ResponseUsage {
    const { inputTokens } = this.#context;
    return {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: this.#tokens,
      output_tokens_details: { reasoning_tokens: this.#thoughtTokens },
      total_tokens: inputTokens + this.#tokens,
    };
  }
}

/** Returns the encrypted content of a reasoning item. */
export function encryptReasoning(id: string): string {
  return createHash("sha256").update(`reasoning ${id}`).digest("base64");
}

/**
 * Repeats the functions of the request, as the API does; tools of other kinds
 * are left out.
 */
function describeTool(tool: unknown): Response["tools"] {
  const { type, name, parameters } = objectOrEmpty(tool);
  if (type !== "function" || typeof name !== "string") return [];
  return [
    {
      type,
      name,
      parameters: isObject(parameters) ? parameters : null,
      strict: false,
    },
  ];
}

function isCustomTool(tools: unknown, name: string): boolean {
  return listOrEmpty(tools).some((tool) => {
    const { type, name: declared } = objectOrEmpty(tool);
    return type === "custom" && declared === name;
  });
}
