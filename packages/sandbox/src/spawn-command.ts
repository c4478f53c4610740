import { type ChildProcess, spawn } from "node:child_process";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { failpoint } from "./failpoint.ts";
import { sendSignal } from "./process-state.ts";
import type { SandboxedCommand } from "./sandbox.ts";

/** A process whose standard output and standard error come through one pipe, in the order in which it wrote them. */
export interface SpawnedCommand {
  readonly child: ChildProcess;
  readonly output: Readable;
  /** The id of the process with which all others of a supervised command end; undefined when there is none. */
  readonly inner: Promise<number | undefined>;
  /** Why its check kept it from starting; undefined when it started or needs no check. */
  readonly refusal: Promise<Error | undefined>;
}

/**
 * The bash script that starts a command.
 *
 * It sets the limits, closes all descriptors above the given number, makes standard error the same pipe as standard output, and executes the
 * program. Node itself closes only the first few of the descriptors that its own launcher left open.
 */
const START = `
last=$1 memory=$2 seconds=$3
shift 3
[ -z "$memory" ] || ulimit -d "$memory" -t "$seconds" || exit
directory=/proc/self/fd
[ -d "$directory" ] || directory=/dev/fd
for descriptor in "$directory"/*; do
  descriptor=\${descriptor##*/}
  case $descriptor in
    *[!0-9]*) ;;
    *) [ "$descriptor" -le "$last" ] || eval "exec $descriptor>&-" ;;
  esac
done
exec "$@" 2>&1`;

/**
 * Starts a command in a process group of its own, with nothing to read.
 *
 * Descriptors from 3 on are the inputs, then for a supervised command the pipe that says which process it supervises, then for one
 * that is checked the pipe that lets it go on.
 */
export function spawnCommand(command: SandboxedCommand): SpawnedCommand {
  const { argv, workingDirectory, environment, shell, limits, inputs, supervised, check } = command;
  const extra = [...inputs, ...(supervised ? ["info"] : []), ...(check ? ["gate"] : [])].map((): "pipe" => "pipe");
  const settings = [2 + extra.length, limits?.memoryKib ?? "", limits?.cpuSeconds ?? ""].map(String);
  failpoint("devtool:command.spawn.before");
  const child = spawn(shell, ["-c", START, "bash", ...settings, ...argv], {
    cwd: workingDirectory,
    env: { ...environment },
    detached: true,
    stdio: ["ignore", "pipe", "ignore", ...extra],
  });
  const [infoPipe, gatePipe] = child.stdio.slice(3 + inputs.length);
  for (const [index, input] of inputs.entries()) writeAll(child.stdio[index + 3], input);
  failpoint("devtool:command.spawn.after");
  const inner = readChildPid(infoPipe);
  const refusal = check ? openWhenChecked(child, inner, check, gatePipe) : Promise.resolve(undefined);
  return { child, output: child.stdout ?? Readable.from([]), inner, refusal };
}

type Pipe = ChildProcess["stdio"][number];

/** Writes to a pipe and closes it. Ignores that a process ends before it has read everything: its exit code reports that. */
function writeAll(pipe: Pipe | undefined, input: Uint8Array): void {
  if (pipe && "end" in pipe) pipe.once("error", () => undefined).end(input);
}

/** Reads which process a supervisor supervises; it writes that in one piece while it starts, and closes the pipe. */
async function readChildPid(pipe: Pipe | undefined): Promise<number | undefined> {
  if (!pipe || !("read" in pipe)) return undefined;
  const json = await text(pipe).catch(() => "");
  const pid = /"child-pid":\s*(\d+)/.exec(json)?.[1];
  return pid === undefined ? undefined : Number(pid);
}

/** Lets a supervised program start when its check resolves; otherwise kills it and returns the reason. */
async function openWhenChecked(
  child: ChildProcess,
  inner: Promise<number | undefined>,
  check: (pid: number) => Promise<void>,
  gate: Pipe | undefined,
): Promise<Error | undefined> {
  const pid = await inner;
  if (pid === undefined) {
    // Nothing can be checked. A supervisor that failed has ended by itself; any other must not go on.
    if (child.pid !== undefined) sendSignal(-child.pid, "SIGKILL");
    gate?.destroy();
    return undefined;
  }
  try {
    await check(pid);
    failpoint("devtool:command.release.before");
    writeAll(gate, Buffer.from("\n"));
    failpoint("devtool:command.release.after");
    return undefined;
  } catch (reason) {
    // Killed before the pipe is closed: an end of input would let it go on, too.
    sendSignal(pid, "SIGKILL");
    gate?.destroy();
    return reason instanceof Error ? reason : new Error("the check failed", { cause: reason });
  }
}
