import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { text } from "node:stream/consumers";

/** A server on loopback, and what it was sent. */
export interface EchoingServer extends AsyncDisposable {
  readonly url: string;
  /** Each request: its line, headers and body. */
  readonly requests: readonly string[];
}

/**
 * An MCP server over HTTP that refuses all callers, and repeats what they sent.
 */
export function startRefusingServer(): Promise<EchoingServer> {
  return start(async (response, request) => refuse(response, 401, request));
}

/**
 * A proxy in front of a Gemini API. A prompt with `echo 401` is always refused,
 * one with `echo 500` the first time; the error says back what the request came
 * with. Everything else is passed on.
 */
export function startEchoingProxy(target: string): Promise<EchoingServer> {
  let failed = false;
  return start(async (response, request, body) => {
    if (body.includes("echo 401")) return refuse(response, 401, request);
    const fails = body.includes("echo 500") && !failed;
    failed ||= fails;
    if (fails) return refuse(response, 500, request);
    const answer = await fetch(new URL(request.url ?? "/", target), {
      method: request.method ?? "POST",
      body,
    });
    response.writeHead(answer.status, {
      "content-type": answer.headers.get("content-type") ?? "",
    });
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  });
}

type Answer = (
  response: ServerResponse,
  request: IncomingMessage,
  body: string,
) => Promise<void>;

async function start(answer: Answer): Promise<EchoingServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const handle = async (): Promise<void> => {
      const body = await text(request);
      requests.push(
        `${request.method} ${request.url} ${JSON.stringify(request.headers)} ${body}`,
      );
      await answer(response, request, body);
    };
    handle().catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    requests,
    [Symbol.asyncDispose]: () => close(server),
  };
}

async function refuse(
  response: ServerResponse,
  status: number,
  { headers, url }: IncomingMessage,
): Promise<void> {
  const message = `not with ${url} and ${JSON.stringify(headers)}`;
  response.writeHead(status, {
    "content-type": "application/json",
    "x-echo": encodeURIComponent(message),
  });
  response.end(
    JSON.stringify({ error: { code: status, message, status: message } }),
  );
}

async function close(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
