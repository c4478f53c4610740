import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";

/** The command that starts a process. */
export interface ChildCommand {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** An absolute path. */
  readonly workingDirectory: string;
  /** The whole environment: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The number of bytes that are kept of the end of standard error. */
const KEPT_STDERR_BYTES = 4096;
/** The time between closing standard input and SIGTERM, in milliseconds. */
const CLOSE_MS = 500;
/** The time between SIGTERM and SIGKILL, in milliseconds. */
const TERMINATE_MS = 1500;

/** A process that leads a group of its own. Disposing of it ends the whole group. */
export class Child implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  /** Resolves when the process has ended, to a description: `it ended with exit code 1`. */
  readonly ended: Promise<string>;
  #stderr: Buffer = Buffer.alloc(0);
  #hasEnded = false;

  /** Starts the process. If that fails, `ended` says so. */
  constructor({ command: [program = "", ...args], workingDirectory, environment }: ChildCommand) {
    this.#child = spawn(program, args, { cwd: workingDirectory, env: { ...environment }, detached: true });
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr])
      stream.on("error", () => undefined);
    this.#child.stderr.on("data", (chunk: Buffer) => this.#keepLastWords(chunk));
    this.ended = this.#waitForEnd();
  }

  /** The process id; undefined when the process could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The standard output. */
  get output(): AsyncIterable<Buffer> {
    return this.#child.stdout;
  }

  /** The end of standard error; may be empty. */
  get lastWords(): string {
    return this.#stderr.toString("utf8").trim();
  }

  /** The number of bytes that were written and that the process has not read yet. */
  get unreadBytes(): number {
    return this.#child.stdin.writableLength;
  }

  /** Writes to standard input. Does nothing when the process accepts no more input. */
  write(text: string): void {
    if (this.#child.stdin.writable) this.#child.stdin.write(text);
  }

  /** Ends the group at once, with SIGKILL. */
  kill(): void {
    this.#signalGroup("SIGKILL");
  }

  /** Stops reading. Processes that were left behind can still hold the output open. */
  closeOutput(): void {
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }

  /** Closes standard input, then sends SIGTERM and SIGKILL to the group. Resolves when the process has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
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
    this.#child.once("error", ({ message }) => ended.resolve(`it could not be started (${message})`));
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

  #keepLastWords(chunk: Buffer): void {
    const all = chunk.length >= KEPT_STDERR_BYTES ? chunk : Buffer.concat([this.#stderr, chunk]);
    this.#stderr = Buffer.from(all.subarray(-KEPT_STDERR_BYTES));
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
