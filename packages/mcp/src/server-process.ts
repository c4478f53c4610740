import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { failpoint } from "@devtool/server/agent";

/** The command that starts a server. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** An absolute path. */
  readonly workingDirectory: string;
  /** The whole environment: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The number of bytes that are kept of the end of standard error. */
const KEPT_STDERR_BYTES = 4096;
/** The time between closing the input of a server and SIGTERM, in milliseconds. */
const CLOSE_MS = 300;
/** The time between SIGTERM and SIGKILL, in milliseconds. */
const TERMINATE_MS = 1500;

/** The process of an MCP server. It leads a process group of its own; disposing of it ends the whole group. */
export class ServerProcess implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  /** Resolves when the process has ended, to a description: `it ended with exit code 1`. */
  readonly ended: Promise<string>;
  #stderr: Buffer = Buffer.alloc(0);
  #hasEnded = false;

  /** Starts the process. If that fails, `ended` says so. */
  constructor({ command, args, workingDirectory, environment }: ServerCommand) {
    failpoint("devtool:mcp.spawn.before");
    this.#child = spawn(command, [...args], { cwd: workingDirectory, env: { ...environment }, detached: true });
    this.#child.stdin.on("error", () => undefined);
    this.#child.stdout.on("error", () => undefined);
    this.#child.stderr.on("error", () => undefined);
    this.#child.stderr.on("data", (chunk: Buffer) => {
      const all = chunk.length >= KEPT_STDERR_BYTES ? chunk : Buffer.concat([this.#stderr, chunk]);
      this.#stderr = Buffer.from(all.subarray(-KEPT_STDERR_BYTES));
    });
    this.ended = this.#waitForEnd();
    failpoint("devtool:mcp.spawn.after");
  }

  /** The process id; undefined when the process could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The standard output. */
  get output(): AsyncIterable<Buffer> {
    return this.#child.stdout;
  }

  /** The end of standard error, for messages about a failure; may be empty. */
  get lastWords(): string {
    return this.#stderr.toString("utf8").trim();
  }

  /** The number of bytes that were written and that the process has not read yet. */
  get unreadBytes(): number {
    return this.#child.stdin.writableLength;
  }

  /** Writes to standard input. Returns false when the process accepts no more input. */
  write(text: string): boolean {
    if (!this.#child.stdin.writable) return false;
    failpoint("devtool:mcp.send.before");
    this.#child.stdin.write(text);
    failpoint("devtool:mcp.send.after");
    return true;
  }

  /** Ends the group at once, with SIGKILL. */
  kill(): void {
    this.#signalGroup("SIGKILL");
  }

  /** Stops reading. Processes that the server left behind can still hold its output open. */
  closeOutput(): void {
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }

  /** Closes standard input, then sends SIGTERM and SIGKILL to the group. Resolves when the process has ended. */
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

  async #waitForEnd(): Promise<string> {
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
    const timer = new AbortController();
    await Promise.race([this.ended, delay(timeMs, undefined, { signal: timer.signal }).catch(() => undefined)]);
    timer.abort();
  }

  #signalGroup(name: NodeJS.Signals): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, name);
    } catch {
      // The group has ended.
    }
  }
}
