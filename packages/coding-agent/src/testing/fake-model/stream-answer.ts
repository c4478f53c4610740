import { once } from "node:events";
import type { ServerResponse } from "node:http";
import {
  setImmediate as nextTick,
  setTimeout as sleep,
} from "node:timers/promises";
import type { Break } from "../../agent/scripted/script.ts";
import type { Content, Plan } from "./plan.ts";

/**
 * Encodes one answer as server-sent events. Each method returns the text of any
 * number of events.
 */
export interface StreamEncoder {
  /** The events before the first piece. */
  begin(): string;
  content(content: Content): string;
  /** The events after the last piece. */
  end(plan: Plan): string;
  /** An event whose data breaks off in the middle of its JSON. */
  readonly malformed: string;
  /** An event with a text, as the bytes before and after the text. */
  readonly aroundText: readonly [before: string, after: string];
}

/**
 * Number of characters that are joined into one write, unless the script asks
 * for a pause.
 */
const BATCH = 32 * 1024;

/** Streams an answer as server-sent events. */
export async function streamAnswer(
  response: ServerResponse,
  plan: Plan,
  encoder: StreamEncoder,
  chunkDelayMs: number,
): Promise<void> {
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
  });
  const frames = new FrameWriter(response);
  const { end } = plan;
  let isBegun = false;
  /**
   * Writes the opening events with the first content, so that nothing at all
   * comes of an answer that breaks before it.
   */
  const begin = async (): Promise<void> => {
    if (!isBegun) await frames.write(encoder.begin());
    isBegun = true;
  };
  for (const item of plan.items) {
    if (frames.closed) return;
    if (item.case === "pause") {
      await frames.pause(item.ms);
    } else if (item.case === "drip") {
      await frames.drip(item.ms);
    } else {
      await begin();
      await frames.write(encoder.content(item));
    }
    if (chunkDelayMs > 0) await frames.pause(chunkDelayMs);
  }
  if (end.case === "break" && end.how !== "empty") {
    return breakOff(frames, end.how, encoder);
  }
  await begin();
  await frames.write(encoder.end(plan));
  await frames.flush();
  response.end();
}

/** Ends a stream in a broken way, after everything written so far was sent. */
async function breakOff(
  frames: FrameWriter,
  how: Break,
  encoder: StreamEncoder,
): Promise<void> {
  const { response } = frames;
  if (how === "malformed") await frames.write(encoder.malformed);
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
    case "badutf8": {
      const [before, after] = encoder.aroundText;
      response.write(
        Buffer.concat([
          Buffer.from(before),
          Buffer.from([0xc3, 0x28, 0xff]),
          Buffer.from(after),
        ]),
      );
      break;
    }
    case "cut":
    case "malformed":
    case "empty":
      break;
    default:
      how satisfies never;
  }
  response.end();
}

/** Writes frames, joined into large writes. Waits for slow readers. */
class FrameWriter {
  readonly response: ServerResponse;
  #pending = "";
  #dripMs: number | undefined;

  constructor(response: ServerResponse) {
    this.response = response;
  }

  get closed(): boolean {
    return this.response.destroyed || this.response.writableEnded;
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
        this.response.write(Buffer.of(byte));
        await (dripMs > 0 ? sleep(dripMs) : nextTick());
      }
      return;
    }
    if (text === "" || this.closed || this.response.write(text)) return;
    const waiting = new AbortController();
    const { signal } = waiting;
    const events = ["drain", "close"].map((name) =>
      once(this.response, name, { signal }).catch(() => undefined),
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
