import { once } from "node:events";
import type { ServerResponse } from "node:http";
import {
  setImmediate as nextTick,
  setTimeout as sleep,
} from "node:timers/promises";
import type { Break } from "@devtool/coding-agent/script";
import type { Plan } from "./plan.ts";
import {
  createChunk,
  createLastChunk,
  type Response,
  type ResponseContext,
} from "./response.ts";

/**
 * Number of characters that are joined into one write, unless the script asks
 * for a pause.
 */
const BATCH = 32 * 1024;

/** Streams a response as server-sent events. */
export async function streamResponse(
  response: ServerResponse,
  plan: Plan,
  context: ResponseContext & { readonly chunkDelayMs: number },
): Promise<void> {
  response.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
  });
  const frames = new FrameWriter(response);
  for (const item of plan.items) {
    if (frames.closed) return;
    if (item.case === "pause") {
      await frames.pause(item.ms);
    } else if (item.case === "drip") {
      await frames.drip(item.ms);
    } else {
      await frames.write(encodeFrame(createChunk(item.parts, context)));
    }
    if (context.chunkDelayMs > 0) await frames.pause(context.chunkDelayMs);
  }
  if (plan.end.case === "break" && plan.end.how !== "empty") {
    return breakOff(response, frames, plan.end.how);
  }
  await frames.write(encodeFrame(createLastChunk([], context, plan)));
  await frames.flush();
  response.end();
}

/** Ends a stream in a broken way, after everything written so far was sent. */
async function breakOff(
  response: ServerResponse,
  frames: FrameWriter,
  how: Break,
): Promise<void> {
  if (how === "malformed") {
    await frames.write('data: {"candidates": [{"content": {"parts"\r\n\r\n');
  }
  await frames.flush();
  switch (how) {
    case "hang":
      response.flushHeaders();
      if (!frames.closed) await once(response, "close");
      return;
    case "reset":
      response.flushHeaders();
      // A reader may lose what it has not read yet when the connection is
      // reset.
      await sleep(20);
      response.socket?.resetAndDestroy();
      return;
    case "badutf8":
      response.write(
        Buffer.concat([
          Buffer.from(textHead),
          Buffer.from([0xc3, 0x28, 0xff]),
          Buffer.from(textTail),
        ]),
      );
      break;
    case "cut":
    case "malformed":
    case "empty":
      break;
    default:
      how satisfies never;
  }
  response.end();
}

const textHead =
  'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"';
const textTail = '"}]},"finishReason":"STOP","index":0}]}\r\n\r\n';

function encodeFrame(response: Response): string {
  return `data: ${JSON.stringify(response)}\r\n\r\n`;
}

/** Writes frames, joined into large writes. Waits for slow readers. */
class FrameWriter {
  readonly #response: ServerResponse;
  #pending = "";
  #dripMs: number | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get closed(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  async write(frame: string): Promise<void> {
    this.#pending += frame;
    if (this.#pending.length >= BATCH || this.#dripMs !== undefined) {
      await this.flush();
    }
  }

  async flush(): Promise<void> {
    const text = this.#pending;
    const dripMs = this.#dripMs;
    this.#pending = "";
    if (dripMs !== undefined) {
      for (const byte of Buffer.from(text)) {
        if (this.closed) return;
        this.#response.write(Buffer.of(byte));
        await (dripMs > 0 ? sleep(dripMs) : nextTick());
      }
      return;
    }
    if (text === "" || this.closed || this.#response.write(text)) return;
    const waiting = new AbortController();
    const { signal } = waiting;
    const events = ["drain", "close"].map((name) =>
      once(this.#response, name, { signal }).catch(() => undefined),
    );
    await Promise.race(events);
    waiting.abort();
  }

  async pause(ms: number): Promise<void> {
    await this.flush();
    await sleep(ms);
  }

  async drip(ms: number): Promise<void> {
    await this.flush();
    this.#dripMs = ms;
  }
}
