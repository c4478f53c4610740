import {
  setTimeout as delay,
  setImmediate as nextTurn,
} from "node:timers/promises";
import { parseJsonOrUndefined } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import {
  LineReader,
  type StdioCommand,
  StdioProcess,
} from "@devtool/server/agent";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { MAX_MESSAGE_BYTES } from "./bounded-fetch.ts";
import { FloodGate } from "./flood-gate.ts";

/**
 * The maximum number of bytes that a server may leave unread before it is
 * ended.
 */
const MAX_UNREAD_BYTES: number = 16 * 1024 * 1024;
/**
 * The number of messages to deliver before other work of the event loop gets
 * its turn.
 */
const MESSAGES_PER_TURN = 50;
/**
 * The time after the end of a server in which the rest of its output is still
 * read, in milliseconds.
 */
const LINGER_MS = 200;

/** How a server begins that writes messages in another form than lines. */
const FRAMING = /^\s*(content-length:|[{[]\s*(["{[]|$))/i;
/** The maximum length of a line that is shown, in characters. */
const MAX_SHOWN_LENGTH = 80;

/** The options of `StdioTransport`. */
export interface StdioTransportOptions {
  /** Reads a line as messages of JSON-RPC. Throws when it has none. */
  readonly read: (line: string) => readonly JSONRPCMessage[];
  /** Writes a message as a line. */
  readonly write: (message: JSONRPCMessage) => string;
  /** The clock, in milliseconds. */
  readonly now: () => number;
}

/**
 * A transport over the standard streams of a server process.
 *
 * Unlike the SDK's own transport it ends the processes that the server started,
 * keeps the end of standard error, and ends a server that floods it or does not
 * read.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /**
   * By this property and `pid` the SDK recognizes a process. It takes one that
   * is silent for a server of an older MCP version.
   */
  readonly stderr = null;
  readonly #command: StdioCommand;
  readonly #options: StdioTransportOptions;
  #process: StdioProcess | undefined;
  #reading: Promise<void> | undefined;
  #failure = "";
  #isStopped = false;

  constructor(command: StdioCommand, options: StdioTransportOptions) {
    this.#command = command;
    this.#options = options;
  }

  /**
   * The process id; null before the start and when the process could not be
   * started.
   */
  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  /**
   * Why the transport closed, with the end of standard error; empty while it is
   * open, and after `close`.
   */
  get closeReason(): string {
    if (this.#isStopped) return "";
    const lastWords = this.#process?.lastWords ?? "";
    return (
      this.#failure +
      (lastWords === "" || this.#failure === ""
        ? ""
        : `; its last words: ${lastWords}`)
    );
  }

  async start(): Promise<void> {
    this.#process = new StdioProcess(this.#command);
    this.#reading = this.#run(this.#process);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#process?.write(`${this.#options.write(message)}\n`)) {
      throw new Error("the MCP server accepts no more input");
    }
    if (this.#process.unreadBytes > MAX_UNREAD_BYTES) {
      this.#fail(this.#process, "it does not read its input");
    }
  }

  async close(): Promise<void> {
    this.#isStopped ||= this.#failure === "";
    await this.#process?.[Symbol.asyncDispose]();
    await this.#reading;
  }

  async #run(process: StdioProcess): Promise<void> {
    const reading = this.#read(process).catch((reason: Error) =>
      this.#fail(process, reason.message),
    );
    const howItEnded = await process.ended;
    await Promise.race([reading, delay(LINGER_MS, undefined, { ref: false })]);
    this.#failure ||= howItEnded;
    process.kill();
    process.closeOutput();
    await reading;
    this.onclose?.();
  }

  /**
   * Reads and delivers messages, and skips lines that are not messages. Yields
   * to the event loop between chunks, and within long ones.
   */
  async #read(process: StdioProcess): Promise<void> {
    const lines = new LineReader(MAX_MESSAGE_BYTES);
    const gate = new FloodGate(this.#options.now);
    let hasMessages = false;
    for await (const chunk of process.output) {
      const complete = [...lines.push(chunk)];
      gate.count(complete.length, chunk.length);
      for (const [at, line] of complete.entries()) {
        try {
          for (const message of this.#options.read(line)) {
            this.onmessage?.(message);
            hasMessages = true;
          }
        } catch (reason) {
          // Lines of JSON that are no messages are those of a log.
          const isJson = parseJsonOrUndefined(line) !== undefined;
          if (!hasMessages && !isJson && FRAMING.test(line)) {
            const start = oneLine(line, MAX_SHOWN_LENGTH);
            throw new Error(`its output is not lines of JSON: ${start}`);
          }
          // Servers print to standard output by mistake.
          this.onerror?.(
            new Error("the MCP server wrote a line that is not a message", {
              cause: reason,
            }),
          );
        }
        if (at % MESSAGES_PER_TURN === MESSAGES_PER_TURN - 1) await nextTurn();
      }
      await nextTurn();
    }
  }

  #fail(process: StdioProcess, why: string): void {
    this.#failure ||= why;
    process.kill();
  }
}
