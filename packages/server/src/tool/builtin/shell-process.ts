import type { ChildProcess } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as delay } from "node:timers/promises";
import type { SandboxedCommand } from "../sandbox/sandbox.ts";
import { type SpawnedCommand, spawnCommand } from "../sandbox/spawn-command.ts";
import { endProcess } from "./shell-process-end.ts";

/** How a process ended. */
export interface ProcessEnd {
  readonly exitCode: number;
  /** The signal that ended it; empty when it ended by itself. */
  readonly signalName: string;
  /** Why it could not be started. */
  readonly error?: Error;
}

/** A running command; disposing of it ends it with what it started. */
export interface ShellProcess extends AsyncDisposable {
  /** Its id on this machine; 0 when it could not be started. */
  readonly pid: number;
  /** What it writes to standard output and error, as it comes, and an empty text now and then; ends with the command. */
  output(): AsyncIterable<string>;
  readonly ended: Promise<ProcessEnd>;
}

/** So long output of a command that has ended may still come from processes that it left behind. */
const LINGER_MS = 200;
/** A command that is silent for so long yields an empty text, so that its reader can show what it held back. */
const TICK_MS = 100;

/** Starts a command in a process group of its own. When the signal aborts, it is ended with what it started. */
export function startProcess(command: SandboxedCommand, signal: AbortSignal): ShellProcess {
  const spawned = spawnCommand(command);
  const { child } = spawned;
  const ended = endOf(child);
  const stop = (): void => void endProcess(spawned, command, ended);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  return {
    pid: child.pid ?? 0,
    output: () => outputOf(spawned, ended),
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

async function* outputOf({ child, output }: SpawnedCommand, ended: Promise<ProcessEnd>): AsyncIterable<string> {
  const queue: string[] = [];
  let wake = Promise.withResolvers<void>();
  const collect = (text: string): void => {
    if (text === "") return;
    queue.push(text);
    wake.resolve();
  };
  const decoder = new StringDecoder("utf8");
  output.on("data", (chunk: Buffer) => collect(decoder.write(chunk)));
  output.on("end", () => collect(decoder.end()));
  let closed = false;
  void closeOf(child, ended).then(() => {
    closed = true;
    wake.resolve();
  });
  while (!closed || queue.length > 0) {
    if (queue.length === 0) await Promise.race([wake.promise, delay(TICK_MS, undefined, { ref: false })]);
    wake = Promise.withResolvers();
    yield queue.splice(0).join("");
  }
}

/** Waits until all output is there: the streams close, or the command has ended and only left processes behind. */
async function closeOf(child: ChildProcess, ended: Promise<ProcessEnd>): Promise<void> {
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const { error } = await ended;
  if (error) return;
  await Promise.race([closed, delay(LINGER_MS)]);
}
