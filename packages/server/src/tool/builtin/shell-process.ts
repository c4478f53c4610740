import { type ChildProcess, spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as delay } from "node:timers/promises";

/** What to run. */
export interface ProcessStart {
  readonly command: string;
  readonly workingDirectory: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** How a process ended. */
export interface ProcessEnd {
  readonly exitCode: number;
  /** The signal that ended it; empty when it ended by itself. */
  readonly signalName: string;
  /** Why it could not be started. */
  readonly error?: Error;
}

/** A running command; disposing of it ends its whole process group. */
export interface ShellProcess extends AsyncDisposable {
  /** What it writes to standard output and error, as it comes, and an empty text now and then; ends with the command. */
  output(): AsyncIterable<string>;
  readonly ended: Promise<ProcessEnd>;
}

/** A process group has so long to end after SIGTERM before it gets SIGKILL. */
const KILL_AFTER_MS = 2000;
/** So long output of a command that has ended may still come from processes that it left behind. */
const LINGER_MS = 200;
/** A command that is silent for so long yields an empty text, so that its reader can show what it held back. */
const TICK_MS = 100;

/** Starts `bash -c` in a process group of its own. When the signal aborts, the group is ended. */
export function startProcess(
  { command, workingDirectory, environment }: ProcessStart,
  signal: AbortSignal,
): ShellProcess {
  const child = spawn("bash", ["-c", command], {
    cwd: workingDirectory,
    env: { ...environment },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = endOf(child);
  const stop = (): void => void endGroup(child, ended);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  return {
    output: () => outputOf(child, ended),
    ended,
    [Symbol.asyncDispose]: async () => {
      signal.removeEventListener("abort", stop);
      await endGroup(child, ended);
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

async function* outputOf(child: ChildProcess, ended: Promise<ProcessEnd>): AsyncIterable<string> {
  const queue: string[] = [];
  let wake = Promise.withResolvers<void>();
  const collect = (text: string): void => {
    if (text === "") return;
    queue.push(text);
    wake.resolve();
  };
  for (const stream of [child.stdout, child.stderr]) {
    const decoder = new StringDecoder("utf8");
    stream?.on("data", (chunk: Buffer) => collect(decoder.write(chunk)));
    stream?.on("end", () => collect(decoder.end()));
  }
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

/** Ends what is left of a process group: SIGTERM, then SIGKILL; returns when its leader is gone and the rest was killed. */
async function endGroup(child: ChildProcess, ended: Promise<ProcessEnd>): Promise<void> {
  if (child.pid === undefined || !signalGroup(child.pid, "SIGTERM")) return;
  const waiting = new AbortController();
  const gone = ended.then(() => groupGone(child.pid ?? 0, waiting.signal));
  await Promise.race([gone, delay(KILL_AFTER_MS, undefined, { signal: waiting.signal })]).catch(() => undefined);
  waiting.abort();
  signalGroup(child.pid, "SIGKILL");
  await ended;
  child.stdout?.destroy();
  child.stderr?.destroy();
}

async function groupGone(pid: number, signal: AbortSignal): Promise<void> {
  while (signalGroup(pid, 0))
    await delay(20, undefined, { signal })
      .catch(() => undefined)
      .then(() => signal.throwIfAborted());
}

/** Sends a signal to a process group; false when it has no process left. */
function signalGroup(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, name);
    return true;
  } catch {
    return false;
  }
}
