import { setTimeout as delay } from "node:timers/promises";
import { type ProcessEnd, type RunningProcess, type SandboxedCommand, startProcess } from "@devtool/sandbox";
import { abortable, Code, DevtoolError } from "@devtool/server/agent";
import { LiveOutput } from "./live-output.ts";

/** The bounds of a task's background processes. */
export interface BackgroundOptions {
  /** Makes the ids of processes: never the same twice, not even after a restart. */
  readonly nextId: () => string;
  /** So many may run at once. Default 8. */
  readonly maxRunning?: number;
  /** So many that have ended can still be read, the newest. Default 16. */
  readonly maxEnded?: number;
  /** So many characters of each one's output are kept, the newest. Default 65536. */
  readonly maxOutputBytes?: number;
}

/** What there is to say of a background process. */
export interface BackgroundState {
  readonly command: string;
  /** Its output so far, or the tail of it. */
  readonly output: string;
  /** How it ended; undefined while it runs. */
  readonly end: ProcessEnd | undefined;
}

interface Entry {
  readonly command: string;
  readonly process: RunningProcess;
  readonly output: LiveOutput;
  readonly stop: AbortController;
  end: ProcessEnd | undefined;
  /** Is resolved with the next output or the end, then replaced. */
  changed: PromiseWithResolvers<void>;
  /** All of its output was read, and it has ended. */
  done: Promise<void>;
}

/** The processes that commands of one task left running. Disposing of it ends them all. */
export class BackgroundProcesses implements AsyncDisposable {
  readonly #options: Required<BackgroundOptions>;
  readonly #entries = new Map<string, Entry>();

  constructor(options: BackgroundOptions) {
    this.#options = { maxRunning: 8, maxEnded: 16, maxOutputBytes: 64 * 1024, ...options };
  }

  /**
   * Starts a process, whose command line is kept for who reads about it; it ends when the signal of who started it
   * aborts. Throws `Code.ResourceExhausted` when too many run.
   */
  start(
    command: string,
    confined: SandboxedCommand,
    signal: AbortSignal,
  ): { readonly id: string; readonly pid: number } {
    this.#makeRoom();
    const stop = new AbortController();
    const process = startProcess(confined, AbortSignal.any([stop.signal, signal]));
    const entry: Entry = {
      command,
      process,
      stop,
      output: new LiveOutput(this.#options.maxOutputBytes),
      end: undefined,
      changed: Promise.withResolvers(),
      done: Promise.resolve(),
    };
    entry.done = follow(entry);
    const id = this.#options.nextId();
    this.#entries.set(id, entry);
    return { id, pid: process.pid };
  }

  /** Tells of a process; waits for more output or its end, at most so many milliseconds, while it runs. */
  async read(id: string, waitMs: number, signal: AbortSignal): Promise<BackgroundState> {
    const entry = this.#entry(id);
    if (!entry.end && waitMs > 0) {
      const timer = new AbortController();
      const late = delay(waitMs, undefined, { signal: timer.signal }).catch(() => undefined);
      await abortable(Promise.race([entry.changed.promise, late]), signal).finally(() => timer.abort());
    }
    return { command: entry.command, output: entry.output.text, end: entry.end };
  }

  /** Ends a process with all that it started; tells of it then. One that had ended stays as it was. */
  async stop(id: string): Promise<BackgroundState> {
    const entry = this.#entry(id);
    await endEntry(entry);
    return { command: entry.command, output: entry.output.text, end: entry.end };
  }

  /** Ends all of them. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#entries.values()].map(endEntry));
  }

  #entry(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry) return entry;
    const known = [...this.#entries.keys()];
    const remedy = known.length > 0 ? `choose ${known.join(", ")}` : "there is none";
    const problem = `background process ${JSON.stringify(id)} is gone: it ended with the server that ran it, or never was`;
    throw new DevtoolError(problem, Code.InvalidArgument, { remedy });
  }

  /** Forgets the oldest of those that have ended, so that their number is bounded. */
  #makeRoom(): void {
    const { maxRunning, maxEnded } = this.#options;
    const ended = [...this.#entries].filter(([, { end }]) => end);
    for (const [id] of ended.slice(0, Math.max(0, ended.length - maxEnded + 1))) this.#entries.delete(id);
    const running = [...this.#entries].filter(([, { end }]) => !end).map(([id]) => id);
    if (running.length < maxRunning) return;
    const problem = `${running.length} background processes run: limit is ${maxRunning}`;
    throw new DevtoolError(problem, Code.ResourceExhausted, { remedy: `stop one of ${running.join(", ")}` });
  }
}

/** Reads the output of a process to its end, then what it left behind is ended too. */
async function follow(entry: Entry): Promise<void> {
  await using process = entry.process;
  for await (const chunk of process.output()) {
    if (chunk === "") continue;
    entry.output.push(chunk);
    wake(entry);
  }
  entry.end = await process.ended;
  wake(entry);
}

async function endEntry(entry: Entry): Promise<void> {
  entry.stop.abort();
  await entry.done;
}

function wake(entry: Entry): void {
  entry.changed.resolve();
  entry.changed = Promise.withResolvers();
}
