import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { isObject } from "@devtool/internal/json";
import { parseJson } from "@devtool/schema";
import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import type { ClientSession } from "../client-session.ts";
import { MAX_CLIENTS, MAX_MESSAGE_BYTES } from "../limits.ts";

/** How long a client may have no stream before it is gone, in milliseconds. */
const GONE_AFTER_MS = 30_000;

/** The limits of a message. Contents are strings: few values, many bytes. */
const LIMITS = { maxBytes: MAX_MESSAGE_BYTES, maxDepth: 32, maxNodes: 10_000 };

/** A client over Streamable HTTP. */
interface HttpClient {
  readonly transport: NodeStreamableHTTPServerTransport;
  readonly session: ClientSession;
  /** The answers that are being sent. */
  readonly answers: Set<ServerResponse>;
  timer: NodeJS.Timeout | undefined;
}

/** Makes the session of a client. */
export type MakeSession = (isSlow: () => boolean) => ClientSession;

/** Serves MCP over Streamable HTTP at one path, a session for each client. */
export class StreamableHttp {
  readonly #makeSession: MakeSession;
  readonly #clients = new Map<string, HttpClient>();

  constructor(makeSession: MakeSession) {
    this.#makeSession = makeSession;
  }

  /** The sessions that are open. */
  sessions(): ClientSession[] {
    return [...this.#clients.values()].map(({ session }) => session);
  }

  /** Answers a request that was admitted. */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const id = request.headers["mcp-session-id"];
    const client = this.#clients.get(String(id));
    if (request.method !== "POST") {
      return client
        ? await this.#answer(client, request, response)
        : refuse(response, 400, "no session of this id: initialize first");
    }
    const body = await readBody(request, response);
    if (!body) return;
    if (client) return await this.#answer(client, request, response, body);
    if (id !== undefined) {
      return refuse(response, 404, "the session has ended: initialize again");
    }
    if (!isInitialize(body.message)) {
      return refuse(response, 400, "no session: initialize first");
    }
    if (this.#clients.size >= MAX_CLIENTS) {
      return refuse(
        response,
        503,
        `${MAX_CLIENTS} agents are connected, which is the limit: end one`,
      );
    }
    await this.#answer(await this.#open(), request, response, body);
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    await Promise.all(
      [...this.#clients.values()].map(({ session }) => session.close()),
    );
  }

  async #open(): Promise<HttpClient> {
    const answers = new Set<ServerResponse>();
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.#clients.set(id, client);
      },
    });
    const session = this.#makeSession(() =>
      [...answers].some(({ writableNeedDrain }) => writableNeedDrain),
    );
    const client: HttpClient = {
      transport,
      session,
      answers,
      timer: undefined,
    };
    await session.connect(transport);
    const { onclose } = transport;
    transport.onclose = () => {
      clearTimeout(client.timer);
      this.#clients.delete(transport.sessionId ?? "");
      onclose?.();
    };
    return client;
  }

  async #answer(
    client: HttpClient,
    request: IncomingMessage,
    response: ServerResponse,
    body?: { readonly message: unknown },
  ): Promise<void> {
    clearTimeout(client.timer);
    client.answers.add(response);
    response.once("close", () => {
      client.answers.delete(response);
      if (client.answers.size > 0) return;
      clearTimeout(client.timer);
      const end = (): void => void client.session.close();
      client.timer = setTimeout(end, GONE_AFTER_MS).unref();
    });
    await client.transport.handleRequest(request, response, body?.message);
  }
}

/**
 * Reads a message. Undefined when it is not one: the request is answered then.
 */
async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<{ readonly message: unknown } | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_MESSAGE_BYTES) {
      response.shouldKeepAlive = false;
      refuse(
        response,
        413,
        `the message is over ${MAX_MESSAGE_BYTES} bytes: send less`,
      );
      return undefined;
    }
    chunks.push(chunk);
  }
  try {
    const text = Buffer.concat(chunks).toString("utf8");
    return { message: parseJson(text, LIMITS) };
  } catch {
    refuse(response, 400, "the message is not valid JSON, or too deep");
    return undefined;
  }
}

function isInitialize(message: unknown): boolean {
  return isObject(message) && message.method === "initialize";
}

/** Refuses a request, in the form of JSON-RPC. */
function refuse(
  response: ServerResponse,
  status: number,
  message: string,
): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(
    JSON.stringify({
      jsonrpc: "2.0",
      error: { code: -32000, message },
      id: null,
    }),
  );
}
