import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { failpoint } from "@devtool/internal/failpoint";
import {
  GROUP_OPTIONS,
  type GroupLeader,
  signalGroup,
} from "@devtool/internal/process-group";

/** The command that starts a `StdioProcess`. */
export interface StdioCommand {
  /** The program: a name that is looked up in `PATH`, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  /** An absolute path. */
  readonly workingDirectory: string;
  /** The whole environment: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Starts the command in another way, as the leader of a process group, such
   * as in a sandbox. Default: it is started as it is.
   */
  readonly start?: () => StartedProcess;
}

/** A process that was started with pipes for its standard streams. */
interface StartedProcess {
  readonly process: GroupLeader & Pick<ChildProcess, "once">;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves to why nothing of it has run; to undefined if it runs. */
  readonly refusal?: Promise<Error | undefined>;
}

/** The beginning of a line such as `TypeError: …` or `npm error …`. */
const ERROR_LINE = /^(npm error|[Ee]rror|[\w.]+Error)\b/m;

/** The number of bytes that are kept of the end of standard error. */
const KEPT_STDERR_BYTES = 4096;
/** The time between closing standard input and SIGTERM, in milliseconds. */
const CLOSE_MS = 500;
/** The time between SIGTERM and SIGKILL, in milliseconds. */
const TERMINATE_MS = 1500;
/**
 * The time after the end of the process in which the rest of its standard error
 * is read, in milliseconds.
 */
const LINGER_MS = 200;
/** The variables that any process needs. */
const INHERITED = [
  "PATH",
  "HOME",
  "LANG",
  "LC_ALL",
  "TERM",
  "TMPDIR",
  "TZ",
  "USER",
  "LOGNAME",
  "SHELL",
] as const;

/**
 * A process that speaks a protocol on its standard streams. It is started
 * without a shell and leads a process group of its own; disposing of it ends
 * the whole group.
 */
export class StdioProcess implements AsyncDisposable {
  readonly #child: StartedProcess;
  /** The process id; undefined when the process could not be started. */
  readonly pid: number | undefined;
  /** The standard output. */
  readonly output: AsyncIterable<Buffer>;
  /**
   * Resolves when the process has ended, to a description:
   * `it ended with exit code 1`.
   */
  readonly ended: Promise<string>;
  #stderr: Buffer = Buffer.alloc(0);
  #hasEnded = false;

  /** Starts the process. If that fails, `ended` resolves with the error. */
  constructor(command: StdioCommand) {
    failpoint("devtool:stdio.spawn.before");
    this.#child = command.start?.() ?? startDirectly(command);
    this.pid = this.#child.process.pid;
    this.output = this.#child.stdout;
    for (const stream of [
      this.#child.stdin,
      this.#child.stdout,
      this.#child.stderr,
    ]) {
      stream.on("error", () => undefined);
    }
    this.#child.stderr.on("data", (chunk: Buffer) => {
      const all =
        chunk.length >= KEPT_STDERR_BYTES
          ? chunk
          : Buffer.concat([this.#stderr, chunk]);
      this.#stderr = Buffer.from(all.subarray(-KEPT_STDERR_BYTES));
    });
    this.ended = this.#waitForEnd();
    failpoint("devtool:stdio.spawn.after");
  }

  /**
   * The last 4096 bytes of standard error at most, trimmed, for messages about
   * a failure; may be empty. They begin with the first line that names an error
   * when there is one: npm and Node write other lines before it.
   */
  get lastWords(): string {
    const words = this.#stderr.toString("utf8").trim();
    return words.slice(Math.max(0, words.search(ERROR_LINE)));
  }

  /**
   * The number of bytes that were written and that the process has not read
   * yet.
   */
  get unreadBytes(): number {
    return this.#child.stdin.writableLength;
  }

  /**
   * Writes to standard input. Returns false when the process accepts no more
   * input.
   */
  write(text: string): boolean {
    if (!this.#child.stdin.writable) return false;
    failpoint("devtool:stdio.send.before");
    this.#child.stdin.write(text);
    failpoint("devtool:stdio.send.after");
    return true;
  }

  /** Ends the group at once, with SIGKILL. */
  kill(): void {
    signalGroup(this.#child.process, "SIGKILL");
  }

  /**
   * Stops reading. Processes that were left behind can still hold the output
   * open.
   */
  closeOutput(): void {
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }

  /**
   * Closes standard input, and sends SIGTERM to the group when the process has
   * not ended after 500 ms. Sends SIGKILL to what is left of the group once the
   * process has ended, or 1500 ms later. Resolves when the process has ended.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    failpoint("devtool:stdio.close.before");
    this.#child.stdin.end();
    failpoint("devtool:stdio.close.after");
    await this.#endsWithin(CLOSE_MS);
    if (!this.#hasEnded) signalGroup(this.#child.process, "SIGTERM");
    await this.#endsWithin(TERMINATE_MS);
    // Processes that were left behind can outlive it and hold its output open.
    this.kill();
    await this.ended;
    this.closeOutput();
    this.#child.stdin.destroy();
  }

  async #waitForEnd(): Promise<string> {
    const ended = Promise.withResolvers<string>();
    const { process: child, refusal } = this.#child;
    child.once("error", ({ message }) =>
      ended.resolve(`it could not be started (${message})`),
    );
    child.once("exit", (code, name) =>
      ended.resolve(
        name === null
          ? `it ended with exit code ${code}`
          : `it was ended by ${name}`,
      ),
    );
    const exit = await ended.promise;
    this.#hasEnded = true;
    const refused = await refusal;
    const how = refused ? `it could not be started (${refused.message})` : exit;
    // The rest of standard error is on its way, unless a process that was left
    // behind holds it open.
    if (!this.#child.stderr.destroyed) {
      await Promise.race([once(this.#child.stderr, "close"), delay(LINGER_MS)]);
    }
    return how;
  }

  async #endsWithin(timeMs: number): Promise<void> {
    const timer = new AbortController();
    await Promise.race([
      this.ended,
      delay(timeMs, undefined, { signal: timer.signal }).catch(() => undefined),
    ]);
    timer.abort();
  }
}

function startDirectly({
  command,
  args,
  workingDirectory,
  environment,
}: StdioCommand): StartedProcess {
  const child = spawn(command, [...args], {
    cwd: workingDirectory,
    env: { ...environment },
    ...GROUP_OPTIONS,
  });
  const { stdin, stdout, stderr } = child;
  return { process: child, stdin, stdout, stderr };
}

/**
 * Selects the variables that any process needs: `PATH`, `HOME`, the locale, and
 * a few others. None of them can hold a secret.
 */
export function inheritedEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const inherited: Record<string, string> = {};
  for (const name of INHERITED) {
    const value = environment[name];
    if (value !== undefined) inherited[name] = value;
  }
  return inherited;
}
