import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { parseJson } from "@devtool/schema";
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/server";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { ClientSession } from "../client-session.ts";
import { MAX_CLIENTS, MAX_MESSAGE_BYTES } from "../limits.ts";
import type { MakeSession } from "./streamable-http.ts";

/** How often a client must show that it lives, in milliseconds. */
const PING_MS = 30_000;

/** How long a client may take to close its side, in milliseconds. */
const CLOSE_MS = 1000;

/** Beyond this, a client reads slower than it is told, in bytes. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** The limits of a message. Contents are strings: few values, many bytes. */
const LIMITS = { maxBytes: MAX_MESSAGE_BYTES, maxDepth: 32, maxNodes: 10_000 };

/** Serves MCP over WebSockets, a session for each connection. */
export class WebSockets {
  readonly #makeSession: MakeSession;
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
  });
  readonly #sessions = new Map<WebSocket, ClientSession>();

  constructor(makeSession: MakeSession) {
    this.#makeSession = makeSession;
  }

  /** The sessions that are open. */
  sessions(): ClientSession[] {
    return [...this.#sessions.values()];
  }

  /** Whether as many agents are connected as may be. */
  get isFull(): boolean {
    return this.#sessions.size >= MAX_CLIENTS;
  }

  /** Accepts a connection that was admitted. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, (client) => {
      void this.#serve(client);
    });
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    await Promise.all(this.sessions().map((session) => session.close()));
    this.#server.close();
  }

  async #serve(client: WebSocket): Promise<void> {
    const session = this.#makeSession(
      () => client.bufferedAmount > MAX_UNREAD_BYTES,
    );
    this.#sessions.set(client, session);
    client.once("close", () => this.#sessions.delete(client));
    endWhenSilent(client);
    await session.connect(new WebSocketTransport(client));
  }
}

/** Ends a connection whose client does not answer a ping. */
function endWhenSilent(client: WebSocket): void {
  let isAlive = true;
  client.on("pong", () => {
    isAlive = true;
  });
  const timer = setInterval(() => {
    if (!isAlive) return client.terminate();
    isAlive = false;
    client.ping();
  }, PING_MS).unref();
  client.once("close", () => clearInterval(timer));
}

/** A connection as a transport of the SDK: a message of JSON-RPC a frame. */
class WebSocketTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #client: WebSocket;

  constructor(client: WebSocket) {
    this.#client = client;
  }

  async start(): Promise<void> {
    this.#client.on("message", (data) => this.#receive(data));
    this.#client.once("close", () => this.onclose?.());
    // `close` follows.
    this.#client.on("error", (error) => this.onerror?.(error));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#send(message);
  }

  async close(): Promise<void> {
    const client = this.#client;
    if (client.readyState === client.CLOSED) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    client.once("close", () => resolve());
    const timer = setTimeout(() => client.terminate(), CLOSE_MS);
    client.close();
    await promise.finally(() => clearTimeout(timer));
  }

  /** Hands a message on. One that is not valid is answered, and costs itself. */
  #receive(data: RawData): void {
    try {
      const text = data.toString();
      this.onmessage?.(parseJSONRPCMessage(parseJson(text, LIMITS)));
    } catch {
      const message = "not a message of JSON-RPC 2.0";
      const error = { code: -32700, message };
      this.#send({ jsonrpc: "2.0", error, id: null });
    }
  }

  /** Sends a message. A client that does not read is not read from either. */
  #send(message: object): void {
    const client = this.#client;
    client.send(JSON.stringify(message), () => {
      if (client.bufferedAmount <= MAX_UNREAD_BYTES) client.resume();
    });
    if (client.bufferedAmount > MAX_UNREAD_BYTES) client.pause();
  }
}
