import { createServer } from "node:http";
import { createServer as createNetServer, type Socket } from "node:net";
import type { JsonValue } from "@bufbuild/protobuf";
import { parseJsonOrUndefined } from "@devtool/internal/json";
import { closeServer, listen, readBody } from "../loopback/http-server.ts";

/**
 * A notification that was received.
 */
export interface ReceivedPost {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The body as JSON, or as a string if it is not valid JSON.
   */
  readonly body: JsonValue;
  /**
   * The status that it was answered with.
   */
  readonly status: number;
}

/**
 * An HTTP server that receives notifications.
 */
export interface Receiver extends AsyncDisposable {
  /**
   * `http://host:port`.
   */
  readonly url: string;
  /**
   * Returns the posts to a path, in order.
   */
  posts(path: string): readonly ReceivedPost[];
  /**
   * Sets the statuses that posts to a path are answered with, in order. Further
   * posts get 204. A redirect points to `elsewhere` below the path.
   */
  setAnswers(path: string, statuses: readonly number[]): void;
  /**
   * Resolves when the next notification has arrived, or when the signal aborts.
   */
  next(signal: AbortSignal): Promise<void>;
}

/**
 * Starts a receiver at `host:port`.
 */
export async function startReceiver(address: string): Promise<Receiver> {
  const received: ReceivedPost[] = [];
  const answers = new Map<string, number[]>();
  let nextPost = Promise.withResolvers<void>();
  const http = createServer(async (request, response) => {
    const { url: path = "/" } = request;
    const text = await readBody(request);
    const status = answers.get(path)?.shift() ?? 204;
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [
        name,
        [value].flat().join(", "),
      ]),
    );
    received.push({
      path,
      headers,
      body: parseJsonOrUndefined(text) ?? text,
      status,
    });
    if (status >= 300 && status < 400) {
      response.setHeader("location", `${path}/elsewhere`);
    }
    response.statusCode = status;
    response.end();
    nextPost.resolve();
    nextPost = Promise.withResolvers();
  });
  const sockets = new Set<Socket>();
  const server = createNetServer((socket) => {
    sockets.add(
      socket
        .on("close", () => sockets.delete(socket))
        .on("error", () => undefined),
    );
    http.emit("connection", socket);
  });
  return {
    url: await listen(server, address),
    posts: (path) => received.filter((post) => post.path === path),
    setAnswers: (path, statuses) => void answers.set(path, [...statuses]),
    async next(signal) {
      if (signal.aborted) return;
      const aborted = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => aborted.resolve(), { once: true });
      await Promise.race([nextPost.promise, aborted.promise]);
    },
    [Symbol.asyncDispose]: () => closeServer(server, sockets),
  };
}
