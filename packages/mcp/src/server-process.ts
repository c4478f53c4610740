import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { failpoint } from "@devtool/server/agent";

/** What to start. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly workingDirectory: string;
  /** The whole environment. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The number of bytes that are kept of what a server last wrote to standard error. */
const KEPT_STDERR_BYTES = 4096;
/** The times in milliseconds that a server has to end after its input was closed, before SIGTERM and then before SIGKILL. */
const CLOSE_MS = 300;
const TERMINATE_MS = 1500;

/** The process of an MCP server, the leader of its own group; disposing of it ends the whole group. */
export class ServerProcess implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  /** How it ended, in words: `exit code 1`. */
  readonly ended: Promise<string>;
  #stderr: Buffer = Buffer.alloc(0);
  #hasEnded = false;

  /** Starts the process; that it could not be started shows in `ended`. */
  constructor({ command, args, workingDirectory, environment }: ServerCommand) {
    failpoint("devtool:mcp.spawn.before");
    this.#child = spawn(command, [...args], { cwd: workingDirectory, env: { ...environment }, detached: true });
    this.#child.stdin.on("error", () => undefined);
    this.#child.stdout.on("error", () => undefined);
    this.#child.stderr.on("error", () => undefined);
    this.#child.stderr.on("data", (chunk: Buffer) => this.#keep(chunk));
    this.ended = this.#end();
    failpoint("devtool:mcp.spawn.after");
  }

  /** Undefined when it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** What it writes to standard output. */
  get output(): AsyncIterable<Buffer> {
    return this.#child.stdout;
  }

  /** The end of what it wrote to standard error, for messages about its failure; may be empty. */
  get lastWords(): string {
    return this.#stderr.toString("utf8").trim();
  }

  /** The number of bytes that wait for it to read them. */
  get unreadBytes(): number {
    return this.#child.stdin.writableLength;
  }

  /** Writes to its standard input; false when it takes nothing any more. */
  write(text: string): boolean {
    if (!this.#child.stdin.writable) return false;
    failpoint("devtool:mcp.send.before");
    this.#child.stdin.write(text);
    failpoint("devtool:mcp.send.after");
    return true;
  }

  /** Ends the group at once. */
  kill(): void {
    this.#signalGroup("SIGKILL");
  }

  /** Stops reading: what processes it left behind still write goes nowhere. */
  closeOutput(): void {
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }

  /** Asks it to end, then makes it; returns when its group is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    failpoint("devtool:mcp.close.before");
    this.#child.stdin.end();
    failpoint("devtool:mcp.close.after");
    await this.#endsWithin(CLOSE_MS);
    if (!this.#hasEnded) this.#signalGroup("SIGTERM");
    await this.#endsWithin(TERMINATE_MS);
    this.kill();
    await this.ended;
    this.closeOutput();
    this.#child.stdin.destroy();
  }

  async #end(): Promise<string> {
    const ended = Promise.withResolvers<string>();
    this.#child.once("error", (error) => ended.resolve(`it could not be started (${error.message})`));
    this.#child.once("exit", (code, name) =>
      ended.resolve(name === null ? `it ended with exit code ${code}` : `it was ended by ${name}`),
    );
    const how = await ended.promise;
    this.#hasEnded = true;
    return how;
  }

  async #endsWithin(timeMs: number): Promise<void> {
    using waiting = new Waiting();
    await Promise.race([this.ended, delay(timeMs, undefined, { signal: waiting.signal }).catch(() => undefined)]);
  }

  #keep(chunk: Buffer): void {
    const all = chunk.length >= KEPT_STDERR_BYTES ? chunk : Buffer.concat([this.#stderr, chunk]);
    this.#stderr = Buffer.from(all.subarray(-KEPT_STDERR_BYTES));
  }

  #signalGroup(name: NodeJS.Signals): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, name);
    } catch {
      // Nobody is left in the group.
    }
  }
}

/** A signal that aborts when nobody waits any more. */
class Waiting implements Disposable {
  readonly #controller = new AbortController();

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    this.#controller.abort();
  }
}
