import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { failpoint } from "@devtool/server/agent";
import type { AcpCommand, AcpPipe } from "./acp-agent-options.ts";

/** The number of bytes that are kept of the end of standard error. */
const KEPT_STDERR_BYTES = 4096;
/** The time between closing the input of an agent and SIGTERM, in milliseconds. */
const CLOSE_MS = 300;
/** The time between SIGTERM and SIGKILL, in milliseconds. */
const TERMINATE_MS = 1500;
/** The time after the end of an agent in which the rest of its standard error is read, in milliseconds. */
const LINGER_MS = 200;
/** The variables that a process gets from the server's environment. None of them can hold a secret. */
const INHERITED = ["PATH", "HOME", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ", "USER", "LOGNAME", "SHELL"] as const;

/** The process of an agent. It leads a process group of its own; disposing of it ends the whole group. */
export class AgentProcess implements AcpPipe {
  readonly ended: Promise<string>;
  readonly #child: ChildProcessWithoutNullStreams;
  #stderr: Buffer = Buffer.alloc(0);
  #hasEnded = false;

  /** Starts the process in a directory, without a shell. If that fails, `ended` says so. */
  constructor({ command, args = [], environment = {} }: AcpCommand, workingDirectory: string) {
    failpoint("devtool:acp.spawn.before");
    const env = { ...inheritedEnvironment(), ...environment };
    this.#child = spawn(command, [...args], { cwd: workingDirectory, env, detached: true });
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr])
      stream.on("error", () => undefined);
    this.#child.stderr.on("data", (chunk: Buffer) => this.#keepLastWords(chunk));
    this.ended = this.#waitForEnd();
    failpoint("devtool:acp.spawn.after");
  }

  get output(): AsyncIterable<Uint8Array> {
    return this.#child.stdout;
  }

  get lastWords(): string {
    return this.#stderr.toString("utf8").trim();
  }

  get unreadBytes(): number {
    return this.#child.stdin.writableLength;
  }

  write(text: string): boolean {
    if (!this.#child.stdin.writable) return false;
    failpoint("devtool:acp.send.before");
    this.#child.stdin.write(text);
    failpoint("devtool:acp.send.after");
    return true;
  }

  kill(): void {
    this.#signalGroup("SIGKILL");
  }

  /** Closes standard input, then sends SIGTERM and SIGKILL to the group. Resolves when the process has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    failpoint("devtool:acp.close.before");
    this.#child.stdin.end();
    failpoint("devtool:acp.close.after");
    await this.#endsWithin(CLOSE_MS);
    if (!this.#hasEnded) this.#signalGroup("SIGTERM");
    await this.#endsWithin(TERMINATE_MS);
    // Processes that the agent left behind can outlive it and hold its output open.
    this.#signalGroup("SIGKILL");
    await this.ended;
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy();
  }

  async #waitForEnd(): Promise<string> {
    const ended = Promise.withResolvers<string>();
    this.#child.once("error", (error) => ended.resolve(`it could not be started (${error.message})`));
    this.#child.once("exit", (code, name) =>
      ended.resolve(name === null ? `it ended with exit code ${code}` : `it was ended by ${name}`),
    );
    const how = await ended.promise;
    this.#hasEnded = true;
    // The rest of standard error is on its way, unless a process that the agent left behind holds it open.
    if (!this.#child.stderr.destroyed) await Promise.race([once(this.#child.stderr, "close"), delay(LINGER_MS)]);
    return how;
  }

  async #endsWithin(timeMs: number): Promise<void> {
    const timer = new AbortController();
    await Promise.race([this.ended, delay(timeMs, undefined, { signal: timer.signal }).catch(() => undefined)]);
    timer.abort();
  }

  #keepLastWords(chunk: Buffer): void {
    this.#stderr = Buffer.from(Buffer.concat([this.#stderr, chunk]).subarray(-KEPT_STDERR_BYTES));
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

/** Returns the variables of the server's environment that a process needs. */
export function inheritedEnvironment(): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of INHERITED) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}
