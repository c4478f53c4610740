import type { ChildProcess } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { endProcess, innerGone } from "./end-process.ts";
import type { SandboxedCommand } from "./sandbox.ts";
import { type SpawnedCommand, spawnCommand } from "./spawn-command.ts";

/** How a process ended. */
export interface ProcessEnd {
  readonly exitCode: number;
  /** The signal that ended it; empty when it ended by itself. */
  readonly signalName: string;
  /** Why it could not be started. */
  readonly error?: Error;
}

/** A running command; disposing of it ends it with what it started. */
export interface RunningProcess extends AsyncDisposable {
  /** Its id on this machine; 0 when it could not be started. */
  readonly pid: number;
  /** What it writes to standard output and error, as it comes, and an empty text now and then; ends with the command. */
  output(): AsyncIterable<string>;
  readonly ended: Promise<ProcessEnd>;
}

/** The time in which processes that an ended command left behind may still add output. */
const LINGER_MS = 200;
/** After this time without output an empty text is yielded, so that the reader can show what it held back. */
const TICK_MS = 100;

/**
 * Starts a command in a process group of its own. When the signal aborts, it is ended with what it started.
 *
 * ```ts
 * await using running = startProcess(sandbox.command(request), signal);
 * for await (const text of running.output()) process.stdout.write(text);
 * const { exitCode } = await running.ended;
 * ```
 */
export function startProcess(command: SandboxedCommand, signal: AbortSignal): RunningProcess {
  const held = command.hold?.();
  const spawned = spawnCommand(command);
  const { child } = spawned;
  const ended = endOf(child).finally(async () => {
    if (!held) return;
    await innerGone(spawned);
    held[Symbol.dispose]();
  });
  const output = new CollectedOutput(spawned, ended);
  const stop = (): void => void endProcess(spawned, command, ended);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  return {
    pid: child.pid ?? 0,
    output: () => output.read(),
    ended,
    [Symbol.asyncDispose]: async () => {
      signal.removeEventListener("abort", stop);
      await endProcess(spawned, command, ended);
    },
  };
}

function endOf(child: ChildProcess): Promise<ProcessEnd> {
  const ended = Promise.withResolvers<ProcessEnd>();
  child.once("error", (error) => ended.resolve({ exitCode: -1, signalName: "", error }));
  child.once("exit", (exitCode, signalName) =>
    ended.resolve({ exitCode: exitCode ?? -1, signalName: signalName ?? "" }),
  );
  return ended.promise;
}

/** Collects what a process writes from its start on: when it ends, Node discards what nobody listened to. */
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
      if (this.#texts.length === 0) await Promise.race([this.#wake.promise, delay(TICK_MS, undefined, { ref: false })]);
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

/** Waits until all output is there: the streams close, or the command has ended and only left processes behind. */
async function closeOf(child: ChildProcess, ended: Promise<ProcessEnd>): Promise<void> {
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const { error } = await ended;
  if (error) return;
  await Promise.race([closed, delay(LINGER_MS)]);
  // On a busy machine the time may be over before what was written is read.
  await nextTurn();
}
