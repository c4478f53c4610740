import { EXTENSION_URI } from "@devtool/schema";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { useEffect, useState } from "react";
import type { ConsoleClient } from "./console-client.ts";
import { problemText } from "./problem-text.ts";

/**
 * A frame of a stream, or a whole answer, with the text exactly as the server
 * sent it.
 */
export interface Frame {
  /** Counts the frames of a stream from 0. */
  readonly number: number;
  /** The id of an event of a stream; empty for an answer. */
  readonly id: string;
  readonly text: string;
}

/** A way to ask the server for what a session has on the wire. */
export interface Binding {
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly path: (taskId: string) => string;
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON body of a POST. */
  readonly body?: (taskId: string) => object;
}

/**
 * Shows all events from the first one, with what only clients with the
 * extension get.
 */
const FROM_THE_FIRST = {
  accept: "text/event-stream",
  "last-event-id": "0",
  "x-a2a-extensions": EXTENSION_URI,
};
const V1 = { ...FROM_THE_FIRST, "a2a-version": "1.0" };
const V03 = { ...FROM_THE_FIRST, "a2a-version": "0.3" };

const rpc = (method: string) => (id: string) => ({
  jsonrpc: "2.0",
  id: 1,
  method,
  params: { id },
});
const subscription = (base: string) => (id: string) =>
  `${base}/tasks/${encodeURIComponent(id)}:subscribe`;

/** The bindings besides Connect that a browser can read. */
export const BINDINGS: readonly Binding[] = [
  {
    name: "A2A 1.0 JSON-RPC",
    method: "POST",
    path: () => "/",
    headers: V1,
    body: rpc("SubscribeToTask"),
  },
  {
    name: "A2A 1.0 HTTP+JSON",
    method: "GET",
    path: subscription(""),
    headers: V1,
  },
  {
    name: "A2A 0.3 JSON-RPC",
    method: "POST",
    path: () => "/",
    headers: V03,
    body: rpc("tasks/resubscribe"),
  },
  {
    name: "A2A 0.3 HTTP+JSON",
    method: "GET",
    path: subscription("/v1"),
    headers: V03,
  },
  {
    name: "Gemini CLI",
    method: "GET",
    path: (id) => `/tasks/${encodeURIComponent(id)}/metadata`,
    headers: { accept: "application/json" },
  },
];

/**
 * Maximum number of frames that are kept, and maximum length of their texts
 * together, in characters.
 */
const [MAX_FRAMES, MAX_LENGTH] = [1000, 4_000_000];

/** Time in milliseconds between two renderings of a stream. */
const RENDER_MS = 100;

/** The frames of a session on one binding, as far as they have come. */
export interface Frames {
  readonly frames: readonly Frame[];
  /** Number of frames before these, which are not kept. */
  readonly leftOut: number;
  /** Why the stream could not be read; empty if nothing is wrong. */
  readonly problem: string;
}

/**
 * Reads the frames of a session on a binding, until the stream ends or the
 * component is gone.
 */
export function useFrames(
  client: ConsoleClient,
  taskId: string,
  binding: Binding,
): Frames {
  const [shown, show] = useState<Frames>({
    frames: [],
    leftOut: 0,
    problem: "",
  });
  useEffect(() => {
    const mounted = new AbortController();
    const buffer = new FrameBuffer();
    const timer = setInterval(() => show(buffer.snapshot("")), RENDER_MS);
    const end = (problem: string): void => {
      clearInterval(timer);
      if (!mounted.signal.aborted) show(buffer.snapshot(problem));
    };
    const follow = async (): Promise<void> => {
      for await (const frame of readFrames(
        client,
        taskId,
        binding,
        mounted.signal,
      )) {
        buffer.add(frame);
      }
    };
    follow().then(
      () => end(""),
      (reason: unknown) => end(problemText(reason)),
    );
    return () => mounted.abort();
  }, [client, taskId, binding]);
  return shown;
}

async function* readFrames(
  client: ConsoleClient,
  taskId: string,
  { method, path, headers, body }: Binding,
  signal: AbortSignal,
): AsyncIterable<Frame> {
  const type = { "content-type": "application/json" };
  const request = body
    ? { body: JSON.stringify(body(taskId)), headers: { ...headers, ...type } }
    : { headers };
  const response = await client.request(path(taskId), {
    method,
    signal,
    ...request,
  });
  if (
    !response.body ||
    !response.headers.get("content-type")?.startsWith("text/event-stream")
  ) {
    return yield { number: 0, id: "", text: await response.text() };
  }
  const events = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  const reader = events.getReader();
  let number = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    yield { number: number++, id: next.value.id ?? "", text: next.value.data };
  }
}

/** The newest frames of a stream, within the limits. */
class FrameBuffer {
  readonly #frames: Frame[] = [];
  #length = 0;
  #leftOut = 0;

  add(frame: Frame): void {
    this.#frames.push(frame);
    this.#length += frame.text.length;
    while (
      this.#frames.length > 1 &&
      (this.#frames.length > MAX_FRAMES || this.#length > MAX_LENGTH)
    ) {
      this.#length -= this.#frames.shift()?.text.length ?? 0;
      this.#leftOut++;
    }
  }

  snapshot(problem: string): Frames {
    return { frames: [...this.#frames], leftOut: this.#leftOut, problem };
  }
}
