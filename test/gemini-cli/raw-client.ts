import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { EventSourceParserStream } from "eventsource-parser/stream";

/** A frame of a stream, or an error, as JSON. */
export type Frame = JsonObject;

/** The server that a client calls. */
export interface Place {
  readonly url: string;
  readonly token: string;
  readonly workspace: string;
}

/**
 * A client written for Gemini CLI's own server: nothing but JSON-RPC and
 * `metadata.coderAgent`.
 */
export class RawClient {
  readonly #place: Place;
  #ids = 0;
  #task: { readonly taskId?: string; readonly contextId?: string } = {};

  readonly #timeoutMs: number;

  /**
   * `timeoutMs` is the time that a turn may take, in milliseconds. A longer one
   * throws a `TimeoutError`.
   */
  constructor(place: Place, timeoutMs = 15_000) {
    this.#place = place;
    this.#timeoutMs = timeoutMs;
  }

  /** The id of the task that was begun. */
  get taskId(): string {
    return this.#task.taskId ?? "";
  }

  /** Begins a task with a text. */
  begin(text: string, settings: JsonObject = {}): Promise<Frame[]> {
    this.#task = {};
    return this.#stream([{ kind: "text", text }], settings);
  }

  /** Continues the task with a text. */
  say(text: string): Promise<Frame[]> {
    return this.#stream([{ kind: "text", text }]);
  }

  /** Answers approvals. */
  answer(...confirmations: readonly JsonObject[]): Promise<Frame[]> {
    return this.#stream(confirmations.map((data) => ({ kind: "data", data })));
  }

  /** Continues the task with an id. */
  resume(taskId: string): void {
    this.#task = { taskId };
  }

  /** Calls a method with a single result. */
  async call(method: string, params: JsonObject): Promise<JsonValue> {
    const response = await this.#post({ method, params });
    return JSON.parse(await response.text());
  }

  /** Sends a plain HTTP request. */
  async http(
    method: string,
    path: string,
    body?: JsonValue,
  ): Promise<{ readonly status: number; readonly body: string }> {
    const response = await fetch(new URL(path, this.#place.url), {
      method,
      headers: this.#headers(),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.text() };
  }

  async #stream(parts: JsonValue[], more: JsonObject = {}): Promise<Frame[]> {
    const coderAgent = {
      kind: "agent-settings",
      workspacePath: this.#place.workspace,
      ...more,
    };
    const messageId = crypto.randomUUID();
    const message = {
      kind: "message",
      role: "user",
      messageId,
      parts,
      metadata: { coderAgent },
      ...this.#task,
    };
    const frames = await framesOf(
      await this.#post({ method: "message/stream", params: { message } }),
    );
    this.#note(frames[0]?.result);
    return frames;
  }

  #note(first: JsonValue | undefined): void {
    if (!isObject(first) || first.kind !== "task") return;
    this.#task = {
      taskId: String(first.id),
      contextId: String(first.contextId),
    };
  }

  #post(call: {
    readonly method: string;
    readonly params: JsonObject;
  }): Promise<Response> {
    return fetch(this.#place.url, {
      method: "POST",
      headers: this.#headers(),
      body: JSON.stringify({ jsonrpc: "2.0", id: ++this.#ids, ...call }),
      signal: AbortSignal.timeout(this.#timeoutMs),
    });
  }

  #headers(): Record<string, string> {
    return {
      "content-type": "application/json",
      authorization: `Bearer ${this.#place.token}`,
    };
  }
}

async function framesOf(response: Response): Promise<Frame[]> {
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    return [JSON.parse(await response.text())];
  }
  const frames: Frame[] = [];
  const events = response.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  for await (const { data } of events ?? []) frames.push(JSON.parse(data));
  return frames;
}

/** Whether a JSON value is an object. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
