import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { FloodGate } from "./flood-gate.ts";
import { LineReader } from "./line-reader.ts";
import { type ServerCommand, ServerProcess } from "./server-process.ts";

/** The maximum size of the requests that a server leaves unread, in bytes; then it is given up. */
const MAX_UNREAD_BYTES: number = 16 * 1024 * 1024;
/** The number of messages of one server after which other servers have their turn. */
const MESSAGES_PER_TURN = 50;
/** The time in which what a server wrote before it ended may still come, in milliseconds. */
const LINGER_MS = 200;

/** How a transport works. */
export interface StdioTransportOptions {
  /** Reads a message; throws for what is not a message. */
  readonly parseMessage: (value: unknown) => JSONRPCMessage;
  readonly now: () => number;
}

/**
 * Speaks MCP over the standard streams of a process of its own group. The SDK's transport would do for servers that
 * mean well; this one also ends what a server started, keeps its last words, and gives up a server that floods.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** The SDK knows a transport of processes by this, and treats silence as an old server then. */
  readonly stderr = null;
  readonly #command: ServerCommand;
  readonly #options: StdioTransportOptions;
  #process: ServerProcess | undefined;
  #reading: Promise<void> | undefined;
  #failure = "";

  constructor(command: ServerCommand, options: StdioTransportOptions) {
    this.#command = command;
    this.#options = options;
  }

  /** The process, while it runs. */
  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  /** Why it closed, with the server's last words; empty while it is open. */
  get closeReason(): string {
    const said = this.#process?.lastWords ?? "";
    return this.#failure + (said === "" || this.#failure === "" ? "" : `; its last words: ${said}`);
  }

  async start(): Promise<void> {
    this.#process = new ServerProcess(this.#command);
    this.#reading = this.#run(this.#process);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#process?.write(`${JSON.stringify(message)}\n`)) throw new Error("the MCP server takes no more input");
    if (this.#process.unreadBytes > MAX_UNREAD_BYTES) this.#giveUp(this.#process, "it does not read its input");
  }

  async close(): Promise<void> {
    this.#failure ||= "it was stopped";
    await this.#process?.[Symbol.asyncDispose]();
    await this.#reading;
  }

  async #run(process: ServerProcess): Promise<void> {
    const reading = this.#read(process).catch((reason: Error) => this.#giveUp(process, reason.message));
    const how = await process.ended;
    await Promise.race([reading, delay(LINGER_MS, undefined, { ref: false })]);
    this.#failure ||= how;
    process.kill();
    process.closeOutput();
    await reading;
    this.onclose?.();
  }

  /** Reads chunk by chunk, and lets others have their turn between two. */
  async #read(process: ServerProcess): Promise<void> {
    const lines = new LineReader();
    const gate = new FloodGate(this.#options.now);
    for await (const chunk of process.output) {
      const complete = lines.push(chunk);
      gate.count(complete.length, chunk.length);
      for (const [at, line] of complete.entries()) {
        this.#deliver(line);
        if (at % MESSAGES_PER_TURN === MESSAGES_PER_TURN - 1) await nextTurn();
      }
      await nextTurn();
    }
  }

  /** What is not a message is left out: servers print to standard output by mistake. */
  #deliver(line: string): void {
    try {
      this.onmessage?.(this.#options.parseMessage(JSON.parse(line)));
    } catch (reason) {
      this.onerror?.(new Error("the MCP server wrote a line that is not a message", { cause: reason }));
    }
  }

  #giveUp(process: ServerProcess, why: string): void {
    this.#failure ||= why;
    process.kill();
  }
}
