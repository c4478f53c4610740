import type { Writable } from "node:stream";
import { failpoint } from "../../failpoint.ts";
import type { Beating, Heartbeats } from "./heartbeats.ts";
import type { HttpResponse } from "./route.ts";

/** Past so many characters that wait for the socket, the writer of a stream waits too. */
const MAX_WAITING = 256 * 1024;

/** A stream of server-sent events. What is sent in one turn of the event loop goes to the socket together. */
export class SseStream implements Beating, Disposable {
  readonly #response: HttpResponse;
  readonly #heartbeats: Heartbeats;
  #waiting = "";
  #flushing: NodeJS.Immediate | undefined;
  #draining: Promise<void> | undefined;

  /** Begins the stream. Its heartbeats keep whatever is between from taking it for dead. */
  constructor(response: HttpResponse, headers: Readonly<Record<string, string>>, heartbeats: Heartbeats) {
    this.#response = response;
    this.#heartbeats = heartbeats;
    const head: Head = response;
    head.writeHead(200, { ...SSE_HEADERS, ...headers });
    heartbeats.add(this);
  }

  /** Sends a comment, unless more waits to be sent. */
  beat(): void {
    const writable: Writable = this.#response;
    if (this.#waiting === "" && !this.#draining && !writable.destroyed) writable.write(": heartbeat\n\n");
  }

  /** Sends an event: JSON on one line, with an id when it is one of a log. Gives what to wait for before more is sent; often nothing. */
  send(data: string, id?: bigint): Promise<void> | undefined {
    this.#push(id === undefined ? `data: ${data}\n\n` : `id: ${id}\ndata: ${data}\n\n`);
    return this.#waiting.length > MAX_WAITING ? this.#flush() : undefined;
  }

  /** Sends an event that says why the stream ends, under a name of its own where the binding has one. */
  async sendError(data: string, event?: string): Promise<void> {
    this.#push(event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`);
    await this.#flush();
  }

  /** Sends what waits and ends the stream. */
  async end(): Promise<void> {
    await this.#flush();
    const writable: Writable = this.#response;
    failpoint("devtool:sse.end.before");
    writable.end();
    failpoint("devtool:sse.end.after");
  }

  [Symbol.dispose](): void {
    this.#heartbeats.remove(this);
    clearImmediate(this.#flushing);
  }

  #push(text: string): void {
    this.#waiting += text;
    this.#flushing ??= setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    // Nothing more goes to a socket that is full: it waits here, where `send` sees how much there is.
    while (this.#draining) await this.#draining;
    const text = this.#waiting;
    this.#waiting = "";
    const writable: Writable = this.#response;
    if (text === "" || writable.destroyed) return;
    failpoint("devtool:sse.write.before");
    const isReady = writable.write(text);
    failpoint("devtool:sse.write.after");
    if (isReady) return;
    this.#draining = drained(writable);
    await this.#draining;
    this.#draining = undefined;
  }
}

/** What responses of HTTP/1.1 and HTTP/2 have in common here. */
interface Head {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
}

const SSE_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

/** Waits until a stream takes more, or is closed. */
async function drained(writable: Writable): Promise<void> {
  const ready = Promise.withResolvers<void>();
  writable.once("drain", ready.resolve).once("close", ready.resolve);
  if (writable.destroyed) ready.resolve();
  await ready.promise;
  writable.off("drain", ready.resolve).off("close", ready.resolve);
}
