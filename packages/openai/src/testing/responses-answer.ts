import type {
  AnswerContext,
  Content,
  Plan,
  PlannedCall,
  StreamEncoder,
} from "@devtool/coding-agent/testing/fake-model";
import {
  defined,
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import type {
  Response,
  ResponseOutputItem,
  ResponseOutputMessage,
  ResponseStreamEvent,
  ResponseUsage,
} from "openai/resources/responses/responses";
import {
  customCallItem,
  foundTools,
  functionCallItem,
  type GeneratedItem,
  type ItemPlace,
  reasoningItem,
  TOOL_SEARCH,
  toolSearchItem,
  type Unnumbered,
} from "./responses-items.ts";

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
        this.#closeMessage();
        this.#addItem(
          reasoningItem(this.#newPlace("rs"), content.text, this.#body),
        );
        return;
      case "calls":
        this.#closeMessage();
        for (const call of content.calls) this.#addItem(this.#callItem(call));
        return;
      default:
        content satisfies never;
    }
  }

  /** Returns a call in the form of the tool that it calls. */
  #callItem(call: PlannedCall): GeneratedItem {
    const tools = [
      ...listOrEmpty(this.#body.tools),
      ...foundTools(this.#body),
    ].map(objectOrEmpty);
    const isSearch = ({ type }: Body): boolean => type === TOOL_SEARCH;
    if (call.name === TOOL_SEARCH && tools.some(isSearch)) {
      return toolSearchItem(this.#newPlace("tsc"), call);
    }
    const isCalled = ({ name }: Body): boolean => name === call.name;
    if (tools.some((tool) => tool.type === "custom" && isCalled(tool))) {
      return customCallItem(this.#newPlace("ctc"), call);
    }
    const namespace = tools.find((tool) =>
      listOrEmpty(tool.tools).map(objectOrEmpty).some(isCalled),
    );
    const name = namespace && stringOrEmpty(namespace.name);
    return functionCallItem(this.#newPlace("fc"), call, name);
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
    this.#emit({
      type: "response.content_part.added",
      item_id: id,
      output_index,
      content_index: 0,
      part: { type: "output_text", text: "", annotations: [], logprobs: [] },
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

  /** Adds an item that is generated in one step. */
  #addItem({ begun, events, item }: GeneratedItem): void {
    this.#emit({
      type: "response.output_item.added",
      output_index: this.#output.length,
      item: begun,
    });
    for (const event of events) this.#emit(event);
    this.#closeItem(item);
  }

  #newPlace(prefix: string): ItemPlace {
    return { item_id: this.#newId(prefix), output_index: this.#output.length };
  }

  #newId(prefix: string): string {
    return `${prefix}_${this.#context.serial}_${this.#output.length}`;
  }

  #response(
    status: "in_progress" | "completed" | "incomplete",
    incomplete_details: Response.IncompleteDetails | null,
  ): Response {
    const { instructions, tools, parallel_tool_calls } = this.#body;
    const { inputTokens } = this.#context;
    const usage: ResponseUsage = {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: this.#tokens,
      output_tokens_details: { reasoning_tokens: this.#thoughtTokens },
      total_tokens: inputTokens + this.#tokens,
    };
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
      usage: status === "in_progress" ? undefined : usage,
    });
  }
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
