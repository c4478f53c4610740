import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isObject, listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import {
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { WebSocket } from "undici";
import { vi } from "vitest";

/** A message that an agent got without asking. */
export interface Heard {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** The result of a tool: its texts, and whether it is an error. */
export interface ToolResult {
  readonly texts: readonly string[];
  readonly isError: boolean;
}

/** Waits until something is there. Rejects after a minute. */
export async function until<T>(find: () => T | undefined): Promise<T> {
  return await vi.waitFor(
    () => {
      const found = find();
      if (found === undefined) throw new Error(`never: ${find}`);
      return found;
    },
    { timeout: 60_000, interval: 10 },
  );
}

/** Reads the only discovery file of a directory. */
export function onlyFile(directory: string): Record<string, unknown> {
  const names = readdirSync(directory);
  if (names.length !== 1) throw new Error(`${directory} has ${names}`);
  return JSON.parse(readFileSync(join(directory, String(names[0])), "utf8"));
}

/** An agent that talks as Gemini CLI does: it finds the companion by its file. */
export class GeminiAgent implements AsyncDisposable {
  readonly heard: Heard[] = [];
  readonly #client = new Client({
    name: "streamable-http-client",
    version: "1",
  });

  static async connect(file: Record<string, unknown>): Promise<GeminiAgent> {
    const agent = new GeminiAgent();
    const url = new URL(`http://127.0.0.1:${file.port}/mcp`);
    const headers = { authorization: `Bearer ${file.authToken}` };
    agent.#client.fallbackNotificationHandler = async ({ method, params }) => {
      agent.heard.push({ method, params: objectOrEmpty(params) });
    };
    await agent.#client.connect(
      new StreamableHTTPClientTransport(url, { requestInit: { headers } }),
    );
    await agent.#client.listTools();
    return agent;
  }

  async call(
    name: string,
    input: Record<string, unknown>,
  ): Promise<ToolResult> {
    return resultOf(await this.#client.callTool({ name, arguments: input }));
  }

  /** The last thing of a kind that was heard. */
  last(method: string): Heard | undefined {
    return this.heard.findLast((each) => each.method === method);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
  }
}

/** An agent that talks as Claude Code does. */
export class ClaudeAgent implements Disposable {
  readonly heard: Heard[] = [];
  /** Resolves once the connection has ended. */
  readonly closed: Promise<undefined>;
  readonly #socket: WebSocket;
  readonly #answers = new Map<number, (message: unknown) => void>();
  #id = 0;

  private constructor(port: number, token: string) {
    this.#socket = new WebSocket(`ws://127.0.0.1:${port}/`, {
      protocols: ["mcp"],
      headers: { "x-claude-code-ide-authorization": token },
    });
    const closed = Promise.withResolvers<undefined>();
    this.closed = closed.promise;
    this.#socket.addEventListener("close", () => closed.resolve(undefined));
    this.#socket.addEventListener("message", ({ data }) =>
      this.#receive(JSON.parse(String(data))),
    );
  }

  static async connect(port: number, token: string): Promise<ClaudeAgent> {
    const agent = new ClaudeAgent(port, token);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    agent.#socket.addEventListener("open", () => resolve());
    agent.#socket.addEventListener("error", () => reject(new Error("refused")));
    await promise;
    await agent.request("initialize", {
      protocolVersion: "2025-03-26",
      capabilities: {},
      clientInfo: { name: "claude-code", version: "2" },
    });
    agent.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    agent.send({ jsonrpc: "2.0", method: "ide_connected", params: { pid: 1 } });
    await agent.request("tools/list", {});
    return agent;
  }

  send(message: unknown): void {
    this.sendText(JSON.stringify(message));
  }

  sendText(text: string): void {
    this.#socket.send(text);
  }

  async request(method: string, params: unknown): Promise<unknown> {
    const id = ++this.#id;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#answers.set(id, resolve);
    this.send({ jsonrpc: "2.0", id, method, params });
    return await promise;
  }

  async call(name: string, input: unknown): Promise<ToolResult> {
    const answer = await this.request("tools/call", { name, arguments: input });
    return resultOf(objectOrEmpty(objectOrEmpty(answer).result));
  }

  last(method: string): Heard | undefined {
    return this.heard.findLast((each) => each.method === method);
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }

  #receive(message: unknown): void {
    if (!isObject(message)) return;
    const { id, method, params } = message;
    if (typeof method === "string") {
      this.heard.push({ method, params: objectOrEmpty(params) });
    } else if (typeof id === "number") {
      this.#answers.get(id)?.(message);
    } else {
      this.heard.push({
        method: "error",
        params: objectOrEmpty(message.error),
      });
    }
  }
}

function resultOf(result: object): ToolResult {
  const { content, isError } = objectOrEmpty(result);
  return {
    texts: listOrEmpty(content).map((part) => String(objectOrEmpty(part).text)),
    isError: isError === true,
  };
}
