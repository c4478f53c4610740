import { createServer, type IncomingMessage } from "node:http";
import { createServer as createNetServer, type Socket } from "node:net";
import type { JsonValue } from "@bufbuild/protobuf";
import { textOf } from "../replay/http.ts";
import { close, listenAt } from "../replay/replay-server.ts";

/** A notification that came. */
export interface Posted {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonValue;
  /** What it was answered with. */
  readonly status: number;
}

/** Takes notifications on loopback, and answers them as it is told to. */
export interface Receiver extends AsyncDisposable {
  /** `http://host:port`. */
  readonly url: string;
  /** Everything that came to a path, in order. */
  posted(path: string): readonly Posted[];
  /** Has posts to a path answered with these statuses, in order; 204 after them. */
  answer(path: string, statuses: readonly number[]): void;
  /** Resolves when the next notification has come, or when the signal aborts. */
  next(signal: AbortSignal): Promise<void>;
}

/** Starts one at `host:port`. */
export async function startReceiver(address: string): Promise<Receiver> {
  const all: Posted[] = [];
  const statuses = new Map<string, number[]>();
  let came = Promise.withResolvers<void>();
  const http = createServer(async (request, response) => {
    const { url: path = "/" } = request;
    const body = await bodyOf(request);
    const status = statuses.get(path)?.shift() ?? 204;
    all.push({ path, headers: headersOf(request), body, status });
    if (status >= 300 && status < 400) response.setHeader("location", `${path}/elsewhere`);
    response.statusCode = status;
    response.end();
    came.resolve();
    came = Promise.withResolvers();
  });
  const sockets = new Set<Socket>();
  const server = createNetServer((socket) => {
    sockets.add(socket.on("close", () => sockets.delete(socket)).on("error", () => undefined));
    http.emit("connection", socket);
  });
  const url = await listenAt(server, address);
  return {
    url,
    posted: (path) => all.filter((post) => post.path === path),
    answer: (path, list) => void statuses.set(path, [...list]),
    next: (signal) => Promise.race([came.promise, aborted(signal)]),
    [Symbol.asyncDispose]: () => close(server, sockets),
  };
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(", ")]));
}

async function bodyOf(request: IncomingMessage): Promise<JsonValue> {
  const text = await textOf(request);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
