import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { expect } from "vitest";
import { MAIN } from "../our-command.ts";

/** A message of JSON-RPC, as tests read it. */
// biome-ignore lint/suspicious/noExplicitAny: tests read JSON of any form
type Message = Readonly<Record<string, any>>;

/** A host of `devtool mcp` without an SDK, which writes what it likes. */
export class RawHost implements AsyncDisposable {
  readonly heard: Message[] = [];
  readonly process: ChildProcess;
  readonly stdin: Writable;
  readonly stdout: Readable;
  #lastId = 0;
  readonly #asked = new Set<unknown>();

  /** @param flags of `devtool mcp` */
  constructor(flags: readonly string[], cwd: string) {
    const child = spawn(process.execPath, [MAIN, "mcp", ...flags], {
      cwd,
      stdio: ["pipe", "pipe", "ignore"],
    });
    this.process = child;
    this.stdin = child.stdin;
    this.stdout = child.stdout;
    // The command may end before it has read what is written.
    child.stdin.on("error", () => undefined);
    createInterface({ input: child.stdout }).on("line", (line) =>
      this.heard.push(JSON.parse(line)),
    );
  }

  /** Writes a message, or a text as it is. */
  write(message: Message | string): void {
    this.stdin.write(
      typeof message === "string" ? message : `${JSON.stringify(message)}\n`,
    );
  }

  /** Writes a request, and returns its id. */
  send(method: string, params: object = {}): number {
    this.write({ jsonrpc: "2.0", id: ++this.#lastId, method, params });
    return this.#lastId;
  }

  notify(method: string, params: object = {}): void {
    this.write({ jsonrpc: "2.0", method, params });
  }

  /** Waits for the response to a request. */
  async response(id: number): Promise<Message> {
    return this.#next(
      (message) => message.id === id && message.method === undefined,
    );
  }

  /** Sends a request, and returns the response. */
  async request(method: string, params: object = {}): Promise<Message> {
    return this.response(this.send(method, params));
  }

  /** Waits for a request of the server that this has not returned before. */
  async asked(method: string): Promise<Message> {
    const message = await this.#next(
      ({ id, method: asked }) =>
        asked === method && id !== undefined && !this.#asked.has(id),
    );
    this.#asked.add(message.id);
    return message;
  }

  /** The parameters of the notifications with a method, in order. */
  told(method: string): Message[] {
    return this.heard
      .filter((message) => message.method === method)
      .map(({ params }) => params);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { exitCode, signalCode } = this.process;
    if (exitCode !== null || signalCode !== null) return;
    const gone = once(this.process, "exit");
    this.process.kill("SIGKILL");
    await gone;
  }

  async #next(isIt: (message: Message) => boolean): Promise<Message> {
    await expect
      .poll(() => this.heard.find(isIt), { timeout: 30_000 })
      .toBeDefined();
    return this.heard.find(isIt) ?? {};
  }
}

/** The `_meta` of a request of 2026-07-28. */
export function modernMeta(
  clientCapabilities: object,
  clientInfo: object = { name: "raw", version: "1" },
): object {
  return {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": clientCapabilities,
  };
}
