import { setTimeout as delay } from "node:timers/promises";
import { abortable } from "@devtool/internal/abortable";
import type { ProcessEnd, RunningProcess } from "@devtool/sandbox";
import { Code, DevtoolError } from "@devtool/server/agent";
import { LiveOutput } from "./live-output.ts";

/** Options of the background processes of a task. */
export interface BackgroundOptions {
  /** Creates a unique id for a process. Ids must not repeat after a restart. */
  readonly nextId: () => string;
  /** The maximum number of running processes. Default: 8. */
  readonly maxRunning?: number;
  /**
   * The maximum number of ended processes whose output can still be read. The
   * oldest are forgotten. Default: 16.
   */
  readonly maxEnded?: number;
  /**
   * The maximum number of characters of output that are kept per process, from
   * the end. Default: 65536.
   */
  readonly maxOutputLength?: number;
}

/** The state of a background process. */
export interface BackgroundState {
  /** The command line. */
  readonly command: string;
  /** The output so far, possibly without its beginning. */
  readonly output: string;
  /** How the process ended. Undefined while it runs. */
  readonly end: ProcessEnd | undefined;
}

/** The background processes of one task. Disposing of it ends all of them. */
export class BackgroundProcesses implements AsyncDisposable {
  readonly #options: Required<BackgroundOptions>;
  readonly #processes = new Map<string, BackgroundProcess>();

  constructor(options: BackgroundOptions) {
    this.#options = {
      maxRunning: 8,
      maxEnded: 16,
      maxOutputLength: 64 * 1024,
      ...options,
    };
  }

  /**
   * Starts a process with `startProcess`. It ends when `signal` aborts.
   *
   * `command` is the command line for those who read the state. Rejects with
   * `Code.ResourceExhausted` when too many processes run, and with the reason
   * when `startProcess` rejects.
   */
  async start(
    command: string,
    startProcess: StartProcess,
    signal: AbortSignal,
  ): Promise<{ readonly id: string; readonly pid: number }> {
    const { nextId, maxRunning, maxEnded, maxOutputLength } = this.#options;
    // The oldest ended processes make room for this one.
    const ended = [...this.#processes].filter(([, { state }]) => state.end);
    for (const [id] of ended.slice(
      0,
      Math.max(0, ended.length - maxEnded + 1),
    )) {
      this.#processes.delete(id);
    }
    const running = [...this.#processes]
      .filter(([, { state }]) => !state.end)
      .map(([id]) => id);
    if (running.length >= maxRunning) {
      const problem = `${running.length} background processes run: limit is ${maxRunning}`;
      throw new DevtoolError(problem, Code.ResourceExhausted, {
        remedy: `stop one of ${running.join(", ")}`,
      });
    }
    const process = new BackgroundProcess(
      command,
      startProcess,
      maxOutputLength,
      signal,
    );
    const id = nextId();
    this.#processes.set(id, process);
    try {
      return { id, pid: await process.pid };
    } catch (reason) {
      this.#processes.delete(id);
      throw reason;
    }
  }

  /**
   * Returns the state of a process. If it runs, first waits up to `waitMs`
   * milliseconds for more output or its end.
   *
   * If the reads before found nothing new, it waits a second, and twice as long
   * with each further one, up to a minute.
   */
  async read(
    id: string,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<BackgroundState> {
    const process = this.#find(id);
    await process.waitForNews(waitMs, signal);
    return process.state;
  }

  /**
   * Ends a process with all processes that it started, and returns its state.
   * Does nothing if it has already ended.
   */
  async stop(id: string): Promise<BackgroundState> {
    const process = this.#find(id);
    await process.stop();
    return process.state;
  }

  /** Ends all processes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      [...this.#processes.values()].map((process) => process.stop()),
    );
  }

  #find(id: string): BackgroundProcess {
    const process = this.#processes.get(id);
    if (process) return process;
    const known = [...this.#processes.keys()];
    const remedy =
      known.length > 0 ? `choose ${known.join(", ")}` : "there is none";
    const problem = `background process ${JSON.stringify(id)} is gone: it ended with the server that ran it, or never was`;
    throw new DevtoolError(problem, Code.InvalidArgument, { remedy });
  }
}

/** Starts a process that ends when the signal aborts. */
export type StartProcess = (signal: AbortSignal) => Promise<RunningProcess>;

/** A process and the output that it has written so far. */
class BackgroundProcess {
  readonly #command: string;
  readonly #process: Promise<RunningProcess>;
  readonly #output: LiveOutput;
  readonly #stop = new AbortController();
  #end: ProcessEnd | undefined;
  /**
   * Resolves with the next output or the end of the process, then is replaced.
   */
  #changed: PromiseWithResolvers<void> = Promise.withResolvers();
  /** The number of changes, and how many of them were read. */
  #changes = 0;
  #changesRead = 0;
  /** The number of reads since that found no change. */
  #idleReads = 0;
  /** Resolves when the process has ended and all of its output was read. */
  readonly #done: Promise<void>;

  constructor(
    command: string,
    startProcess: StartProcess,
    maxOutputLength: number,
    signal: AbortSignal,
  ) {
    this.#command = command;
    this.#process = startProcess(AbortSignal.any([this.#stop.signal, signal]));
    this.#output = new LiveOutput(maxOutputLength);
    // A process that does not start has no output, and `pid` rejects.
    this.#done = this.#process.then(
      (process) => this.#collectOutput(process),
      () => undefined,
    );
  }

  /**
   * Resolves with the process id when the process has started. Rejects when it
   * does not start.
   */
  get pid(): Promise<number> {
    return this.#process.then(({ pid }) => pid);
  }

  get state(): BackgroundState {
    return {
      command: this.#command,
      output: this.#output.text,
      end: this.#end,
    };
  }

  async waitForNews(waitMs: number, signal: AbortSignal): Promise<void> {
    const hasNews = this.#changes > this.#changesRead;
    const leastMs = hasNews ? 0 : idleWaitMs(this.#idleReads);
    await this.#waitForChange(Math.max(waitMs, leastMs), signal);
    const isIdle = this.#changes === this.#changesRead;
    this.#idleReads = isIdle ? this.#idleReads + 1 : 0;
    this.#changesRead = this.#changes;
  }

  async #waitForChange(waitMs: number, signal: AbortSignal): Promise<void> {
    if (this.#end || waitMs <= 0) return;
    const timer = new AbortController();
    const timeout = delay(waitMs, undefined, { signal: timer.signal }).catch(
      () => undefined,
    );
    await abortable(
      Promise.race([this.#changed.promise, timeout]),
      signal,
    ).finally(() => timer.abort());
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  /**
   * Reads the output until the process ends, then ends the processes that it
   * left behind.
   */
  async #collectOutput(started: RunningProcess): Promise<void> {
    await using process = started;
    for await (const chunk of process.output()) {
      if (chunk === "") continue;
      this.#output.push(chunk);
      this.#notifyChange();
    }
    this.#end = await process.ended;
    this.#notifyChange();
  }

  #notifyChange(): void {
    this.#changes++;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/**
 * Returns how long a read waits at least, in milliseconds, after reads that
 * found nothing new.
 */
function idleWaitMs(idleReads: number): number {
  return idleReads === 0 ? 0 : Math.min(60_000, 1000 * 2 ** (idleReads - 1));
}
