import { type ChildProcess, spawn } from "node:child_process";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { failpoint } from "./failpoint.ts";
import type { SandboxedCommand } from "./sandbox.ts";

/** A process whose two outputs come through one pipe, in the order in which it wrote. */
export interface SpawnedCommand {
  readonly child: ChildProcess;
  readonly output: Readable;
  /** The process with which all others of a supervised command end; undefined when there is none. */
  readonly inner: Promise<number | undefined>;
}

/**
 * Sets limits where there are any, closes the descriptors that the server's own launcher left open, all above the number
 * given, makes standard error the same pipe as standard output, and becomes the program. Node closes only the first few descriptors that it inherits.
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

/** Starts a command in a process group of its own, with nothing to read. */
export function spawnCommand(command: SandboxedCommand): SpawnedCommand {
  const { argv, workingDirectory, environment, shell, limits, inputs, supervised } = command;
  const pipes = [...inputs, ...(supervised ? ["info"] : [])].map((): "pipe" => "pipe");
  const settings = [2 + pipes.length, limits?.memoryKib ?? "", limits?.cpuSeconds ?? ""].map(String);
  failpoint("devtool:command.spawn.before");
  const child = spawn(shell, ["-c", START, "bash", ...settings, ...argv], {
    cwd: workingDirectory,
    env: { ...environment },
    detached: true,
    stdio: ["ignore", "pipe", "ignore", ...pipes],
  });
  for (const [index, input] of inputs.entries()) give(child.stdio[index + 3], input);
  failpoint("devtool:command.spawn.after");
  return { child, output: child.stdout ?? Readable.from([]), inner: innerOf(child.stdio[inputs.length + 3]) };
}

type Pipe = ChildProcess["stdio"][number];

/** A process that ended before it read does not matter: its end tells. */
function give(pipe: Pipe, input: Uint8Array): void {
  if (pipe && "end" in pipe) pipe.once("error", () => undefined).end(input);
}

/** Reads which process a supervisor watches over; it says so while it starts, in one piece, and closes the pipe. */
async function innerOf(pipe: Pipe): Promise<number | undefined> {
  if (!pipe || !("read" in pipe)) return undefined;
  const said = await text(pipe).catch(() => "");
  const pid = /"child-pid":\s*(\d+)/.exec(said)?.[1];
  return pid === undefined ? undefined : Number(pid);
}
