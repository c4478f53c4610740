import type { Writable } from "node:stream";
import { replaceLoneSurrogates } from "@devtool/internal/exact-json";
import { failpoint } from "@devtool/internal/failpoint";
import type { Beating, Heartbeats } from "./heartbeats.ts";
import type { HttpResponse, ResponseHeaders } from "./route.ts";

/**
 * Number of characters waiting for the socket above which the sender of a
 * stream has to wait. With longer strings an event costs a tenth more: each of
 * them takes memory of its own from the system.
 */
const MAX_WAITING = 64 * 1024;

const SSE_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  // Without it, nginx holds events back until its buffer is full.
  "x-accel-buffering": "no",
} as const;

/**
 * A response that consists of server-sent events.
 *
 * Events that are sent in one turn of the event loop are written to the socket
 * together.
 */
export class SseStream implements Beating, Disposable {
  readonly #response: HttpResponse;
  readonly #heartbeats: Heartbeats;
  /** The tick of the heartbeats. */
  readonly #tick: number;
  #waiting = "";
  #flushing: NodeJS.Immediate | undefined;
  #draining: Promise<void> | undefined;

  /**
   * Begins the response. Heartbeats keep proxies from closing it while there
   * are no events.
   */
  constructor(
    response: HttpResponse,
    headers: ResponseHeaders,
    heartbeats: Heartbeats,
  ) {
    this.#response = response;
    this.#heartbeats = heartbeats;
    const head: Head = response;
    head.writeHead(200, { ...SSE_HEADERS, ...headers });
    this.#tick = heartbeats.add(this);
  }

  /** Sends a comment as a sign of life, unless events wait to be written. */
  beat(): void {
    const writable: Writable = this.#response;
    if (this.#waiting === "" && !this.#draining && !writable.destroyed) {
      writable.write(": heartbeat\n\n");
    }
  }

  /**
   * Sends an event. `id` is the sequence of the event in its log, `event` its
   * type.
   *
   * Returns a promise to await before the next event when the client reads too
   * slowly, else undefined.
   */
  send(data: string, id?: bigint, event?: string): Promise<void> | undefined {
    const type = event === undefined ? "" : `event: ${event}\n`;
    // JSON is one line. Other data begins each of its lines as data.
    const isOneLine = !data.includes("\n") && !data.includes("\r");
    const lines = isOneLine ? data : data.replace(/\r\n?|\n/g, "\ndata: ");
    const text = `${type}data: ${lines}\n\n`;
    this.#push(id === undefined ? text : `id: ${id}\n${text}`);
    return this.#waiting.length > MAX_WAITING ? this.#flush() : undefined;
  }

  /**
   * Sends the event that reports why the stream ends, with an event type where
   * the binding has one for errors.
   */
  async sendError(data: string, event?: string): Promise<void> {
    void this.send(data, undefined, event);
    await this.#flush();
  }

  /** Writes all events that wait, and ends the response. */
  async end(): Promise<void> {
    await this.#flush();
    const writable: Writable = this.#response;
    failpoint("devtool:sse.end.before");
    writable.end();
    failpoint("devtool:sse.end.after");
  }

  /**
   * Stops the heartbeats, and drops events that wait unless `end` is called.
   */
  [Symbol.dispose](): void {
    this.#heartbeats.remove(this, this.#tick);
    clearImmediate(this.#flushing);
  }

  #push(text: string): void {
    this.#waiting += text;
    this.#flushing ??= setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    // Writes nothing to a full socket. What waits stays here, where `send` sees
    // how much it is.
    while (this.#draining) await this.#draining;
    const text = replaceLoneSurrogates(this.#waiting);
    this.#waiting = "";
    const writable: Writable = this.#response;
    if (text === "" || writable.destroyed) return;
    failpoint("devtool:sse.write.before");
    const isReady = writable.write(text);
    failpoint("devtool:sse.write.after");
    if (isReady) return;
    // Ready once the socket accepts more data, or is closed.
    const ready = Promise.withResolvers<void>();
    this.#draining = ready.promise;
    writable.once("drain", ready.resolve).once("close", ready.resolve);
    if (writable.destroyed) ready.resolve();
    await ready.promise;
    writable.off("drain", ready.resolve).off("close", ready.resolve);
    this.#draining = undefined;
  }
}

/** The `writeHead` that the responses of HTTP/1.1 and HTTP/2 have in common. */
interface Head {
  writeHead(status: number, headers: ResponseHeaders): unknown;
}
