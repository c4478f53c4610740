import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { isDeepStrictEqual } from "node:util";
import { Agent, fetch, type Headers } from "undici";

/** A request from the client. */
export interface Sent {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Simulates a faulty server by changing requests to it or answers from it. */
export interface Spoil {
  /** Changes a request before the server receives it. */
  request?(sent: Sent): Partial<Sent> | undefined;
  /** Changes the status and the headers of an answer. */
  head?(head: AnswerHead, sent: Sent): Partial<AnswerHead> | undefined;
  /**
   * Changes the body of an answer. Of a stream, it changes each chunk of whole
   * events.
   */
  body?(text: string, sent: Sent): string;
}

/** The status and the headers of an answer. */
export interface AnswerHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** A proxy that applies a `Spoil` to everything it forwards. */
export interface SpoilingProxy extends AsyncDisposable {
  readonly url: string;
  /** Returns the number of requests, heads and bodies changed so far. */
  changes(): number;
}

/**
 * Starts a proxy in front of a server. The URLs in its card become those of the
 * proxy.
 */
export async function startSpoilingProxy(
  target: string,
  spoil: Spoil,
): Promise<SpoilingProxy> {
  let changes = 0;
  const changed = <T>(before: T, after: T): T => {
    if (!isDeepStrictEqual(before, after)) changes++;
    return after;
  };
  const server = createServer((request, response) => {
    // A client that disconnects makes the relay fail.
    relay(request, response, {
      target,
      spoil,
      own: urlOf(server),
      changed,
    }).catch(() => response.destroy());
  });
  // Idle connections stay open, and those to the target are not used again: a
  // busy test process would send a request over a connection at the moment at
  // which the other side closes it.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: urlOf(server),
    changes: () => changes,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function urlOf(server: Server): string {
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
}

const WITHOUT_REUSE = new Agent({ pipelining: 0 });

interface Relaying {
  readonly target: string;
  readonly spoil: Spoil;
  readonly own: string;
  /** Returns `after`, and counts it if it differs from `before`. */
  readonly changed: <T>(before: T, after: T) => T;
}

async function relay(
  request: IncomingMessage,
  response: ServerResponse,
  relaying: Relaying,
): Promise<void> {
  const { target, spoil, own, changed } = relaying;
  const sent = await readSent(request);
  const { method, path, headers, body } = changed(sent, {
    ...sent,
    ...spoil.request?.(sent),
  });
  const closed = new AbortController();
  response.once("close", () => closed.abort());
  const init = {
    method,
    headers,
    signal: closed.signal,
    dispatcher: WITHOUT_REUSE,
    ...(body !== "" && { body }),
  };
  const answer = await fetch(new URL(path, target), init);
  const head = {
    status: answer.status,
    headers: endToEndHeaders(answer.headers),
  };
  const spoilt = changed(head, { ...head, ...spoil.head?.(head, sent) });
  response.writeHead(spoilt.status, spoilt.headers);
  const change = (text: string): string =>
    changed(text, spoil.body?.(text, sent) ?? text).replaceAll(target, own);
  const streams = answer.headers
    .get("content-type")
    ?.startsWith("text/event-stream");
  let rest = "";
  for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ??
    []) {
    rest += chunk;
    const end = streams ? rest.lastIndexOf("\n\n") + 2 : 0;
    if (end > 1) response.write(change(rest.slice(0, end)));
    rest = end > 1 ? rest.slice(end) : rest;
  }
  response.end(change(rest));
}

async function readSent(request: IncomingMessage): Promise<Sent> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const headers = Object.entries(request.headers).filter(
    ([name]) => !HOP_BY_HOP.has(name),
  );
  return {
    method: request.method ?? "GET",
    path: request.url ?? "/",
    headers: Object.fromEntries(
      headers.map(([name, value]) => [name, String(value)]),
    ),
    body: Buffer.concat(chunks).toString(),
  };
}

function endToEndHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    [...headers].filter(([name]) => !HOP_BY_HOP.has(name)),
  );
}

const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "keep-alive",
]);
