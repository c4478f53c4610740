import type { ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import {
  setTimeout as delay,
  setImmediate as nextTurn,
} from "node:timers/promises";
import { endProcess, innerGone } from "./end-process.ts";
import { sendSignal } from "./process-state.ts";
import type { Holding, SandboxedCommand, TakenPlace } from "./sandbox.ts";
import {
  type SpawnedCommand,
  type Streams,
  spawnCommand,
} from "./spawn-command.ts";

/** How a process ended. */
export interface ProcessEnd {
  /** The exit code; -1 when a signal ended it or it never started. */
  readonly exitCode: number;
  /** The signal that ended it; empty when it exited by itself. */
  readonly signalName: string;
  /**
   * Why it could not be started; a `SandboxError` when it could not be confined
   * as asked.
   */
  readonly error?: Error;
  /**
   * Guarded places that appeared while it ran, and where their content is now.
   * Default: none.
   */
  readonly taken?: readonly TakenPlace[];
  /**
   * What was renamed in repositories that the command added to an index of git.
   */
  readonly disarmed?: readonly TakenPlace[];
}

/**
 * A running command. Disposing of it ends it and every process that it started.
 */
export interface RunningProcess extends AsyncDisposable {
  /** The process id on this machine; 0 when it could not be started. */
  readonly pid: number;
  /**
   * Yields standard output and standard error as they come, and an empty string
   * at least every 100 ms; ends with the command.
   *
   * May be read once. Output from before the call is kept.
   */
  output(): AsyncIterable<string>;
  /**
   * Resolves when the checks of the sandbox let the command start or refuse it,
   * with the reason if they refuse it. Nothing of a refused command has run.
   */
  readonly refusal: Promise<Error | undefined>;
  /** Resolves when the command has ended; never rejects. */
  readonly ended: Promise<ProcessEnd>;
}

/**
 * The time in which processes that an ended command left behind may still add
 * output, in milliseconds.
 */
const LINGER_MS = 200;
/**
 * The maximum time between two yields of `output()`, so that its reader can
 * show what it holds back.
 */
const TICK_MS = 100;

/**
 * Starts a command in a process group of its own. When the signal aborts, the
 * command is ended with all that it started: with SIGTERM, and two seconds
 * later with SIGKILL.
 *
 * A command that cannot be started ends with `ProcessEnd.error`.
 *
 * ```ts
 * await using running = startProcess(await sandbox.command(request), signal);
 * for await (const text of running.output()) process.stdout.write(text);
 * const { exitCode } = await running.ended;
 * ```
 */
export function startProcess(
  command: SandboxedCommand,
  signal: AbortSignal,
): RunningProcess {
  let started: StartedProcess;
  let stop = (): void => undefined;
  try {
    started = startHeld(command, "merged", () => stop());
  } catch (reason) {
    const error =
      reason instanceof Error
        ? reason
        : new Error("the command was not started", { cause: reason });
    return {
      pid: 0,
      output: async function* () {},
      refusal: Promise.resolve(error),
      ended: Promise.resolve({ exitCode: -1, signalName: "", error }),
      [Symbol.asyncDispose]: async () => undefined,
    };
  }
  const { spawned, ended } = started;
  const output = new CollectedOutput(spawned, ended);
  stop = (): void => void endProcess(spawned, command, ended);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  return {
    pid: spawned.child.pid ?? 0,
    output: () => output.read(),
    refusal: spawned.refusal,
    ended,
    [Symbol.asyncDispose]: async () => {
      signal.removeEventListener("abort", stop);
      await endProcess(spawned, command, ended);
    },
  };
}

/** A process with a pipe for each of its standard streams. */
export interface PipedProcess {
  readonly process: ChildProcess;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** As that of a `RunningProcess`. */
  readonly refusal: Promise<Error | undefined>;
}

/**
 * Starts a command that speaks a protocol on its standard streams, in a process
 * group of its own. Whoever starts it ends it, with that group. Throws when the
 * sandbox cannot prepare the workspace.
 */
export function startPiped(command: SandboxedCommand): PipedProcess {
  let kill = (): void => undefined;
  const { spawned } = startHeld(command, "pipes", () => kill());
  const { child, refusal } = spawned;
  const { pid, stdin, stdout, stderr } = child;
  if (!stdin || !stdout || !stderr) throw new Error("the process has no pipes");
  kill = () => {
    if (pid !== undefined) sendSignal(-pid, "SIGKILL");
  };
  return { process: child, stdin, stdout, stderr, refusal };
}

/** A process that was started, and its end once nothing is held for it. */
interface StartedProcess {
  readonly spawned: SpawnedCommand;
  readonly ended: Promise<ProcessEnd>;
}

/**
 * Holds what a command needs and starts it. Throws, and holds nothing, when
 * either fails.
 */
function startHeld(
  command: SandboxedCommand,
  streams: Streams,
  end: () => void,
): StartedProcess {
  const held = command.hold?.(end);
  try {
    const spawned = spawnCommand(command, streams);
    return { spawned, ended: cleanEnd(spawned, command, held) };
  } catch (reason) {
    held?.[Symbol.dispose]();
    throw reason;
  }
}

/** Waits for the end of a command, and undoes what was prepared for it. */
async function cleanEnd(
  spawned: SpawnedCommand,
  command: SandboxedCommand,
  held: Holding | undefined,
): Promise<ProcessEnd> {
  const end = programEnd(await endOf(spawned), command);
  if (!held) return end;
  await innerGone(spawned);
  held[Symbol.dispose]();
  const { taken } = held;
  const disarmed = (await command.disarm?.()) ?? [];
  return {
    ...end,
    ...(taken.length > 0 && { taken }),
    ...(disarmed.length > 0 && { disarmed }),
  };
}

/**
 * Returns how the program of a command ended, given the end of the process that
 * started it.
 */
function programEnd(
  end: ProcessEnd,
  { exitCode: read }: SandboxedCommand,
): ProcessEnd {
  if (!read || end.exitCode !== 0) return end;
  const exitCode = read();
  return exitCode === undefined
    ? { exitCode: -1, signalName: "SIGTERM" }
    : { ...end, exitCode };
}

async function endOf({ child, refusal }: SpawnedCommand): Promise<ProcessEnd> {
  const exited = Promise.withResolvers<ProcessEnd>();
  child.once("error", (error) =>
    exited.resolve({ exitCode: -1, signalName: "", error }),
  );
  child.once("exit", (exitCode, signalName) =>
    exited.resolve({ exitCode: exitCode ?? -1, signalName: signalName ?? "" }),
  );
  const end = await exited.promise;
  const error = end.error ?? (await refusal);
  return error ? { exitCode: -1, signalName: "", error } : end;
}

/**
 * Collects what a process writes from its start on, since Node discards the
 * output that nobody reads once the process has ended.
 */
class CollectedOutput {
  readonly #texts: string[] = [];
  #wake = Promise.withResolvers<void>();
  #closed = false;

  constructor({ child, output }: SpawnedCommand, ended: Promise<ProcessEnd>) {
    const decoder = new StringDecoder("utf8");
    output.on("data", (chunk: Buffer) => this.#add(decoder.write(chunk)));
    output.on("end", () => this.#add(decoder.end()));
    void closeOf(child, ended).then(() => {
      this.#closed = true;
      this.#wake.resolve();
    });
  }

  async *read(): AsyncIterable<string> {
    while (!this.#closed || this.#texts.length > 0) {
      if (this.#texts.length === 0) {
        await Promise.race([
          this.#wake.promise,
          delay(TICK_MS, undefined, { ref: false }),
        ]);
      }
      this.#wake = Promise.withResolvers();
      yield this.#texts.splice(0).join("");
    }
  }

  #add(text: string): void {
    if (text === "") return;
    this.#texts.push(text);
    this.#wake.resolve();
  }
}

/**
 * Waits until the streams of a process close, or until it has ended and only
 * left processes behind that may still write.
 */
async function closeOf(
  child: ChildProcess,
  ended: Promise<ProcessEnd>,
): Promise<void> {
  const closed = new Promise<void>((resolve) =>
    child.once("close", () => resolve()),
  );
  await ended;
  if (child.pid === undefined) return;
  await Promise.race([closed, delay(LINGER_MS)]);
  // On a busy machine that time may pass before the output in the pipe has been
  // read.
  await nextTurn();
}
