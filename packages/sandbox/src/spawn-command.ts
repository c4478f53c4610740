import { type ChildProcess, spawn } from "node:child_process";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { failpoint } from "@devtool/internal/failpoint";
import { GROUP_OPTIONS, signalGroup } from "@devtool/internal/process-group";
import { sendSignal } from "./process-state.ts";
import type { SandboxedCommand } from "./sandbox.ts";

/**
 * A process whose standard output and standard error share one pipe, which
 * keeps their order.
 */
export interface SpawnedCommand {
  readonly child: ChildProcess;
  readonly output: Readable;
  /**
   * The id of the supervised process: all other processes of the command end
   * with it. Undefined without a supervisor.
   */
  readonly inner: Promise<number | undefined>;
  /**
   * The reason why the check refused the start; undefined when the command
   * started or has no check.
   */
  readonly refusal: Promise<Error | undefined>;
}

/**
 * The bash script that starts a command.
 *
 * It sets the limits, closes all descriptors above the given number, and
 * executes the program.
 * Node itself closes only the first few of the descriptors that its own
 * launcher left open.
 */
const START: string = `
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
exec "$@"`;

/**
 * The standard streams of a command: no input, and standard error in the same
 * pipe as standard output; or a pipe for each.
 */
export type Streams = "merged" | "pipes";

/**
 * Starts a command in its own process group.
 *
 * The descriptors from 3 on are, in this order:
 * - the inputs of the command;
 * - for a supervised command, the pipe on which the supervisor writes the id of
 *   the supervised process;
 * - for a command with a check, the pipe on which the command waits until the
 *   check has passed.
 */
export function spawnCommand(
  command: SandboxedCommand,
  streams: Streams = "merged",
): SpawnedCommand {
  const {
    argv,
    workingDirectory,
    environment,
    shell,
    limits,
    inputs,
    supervised,
    check,
  } = command;
  const extra = [
    ...inputs,
    ...(supervised ? ["info"] : []),
    ...(check ? ["gate"] : []),
  ].map((): "pipe" => "pipe");
  const settings = [
    2 + extra.length,
    limits?.memoryKib ?? "",
    limits?.cpuSeconds ?? "",
  ].map(String);
  failpoint("devtool:command.spawn.before");
  const script = streams === "merged" ? `${START} 2>&1` : START;
  // With -p bash runs no file that a variable names.
  const args = ["-p", "-c", script, "bash", ...settings, ...argv];
  const child = spawn(shell, args, {
    cwd: workingDirectory,
    env: { ...environment },
    ...GROUP_OPTIONS,
    stdio:
      streams === "merged"
        ? ["ignore", "pipe", "ignore", ...extra]
        : ["pipe", "pipe", "pipe", ...extra],
  });
  // Without free descriptors there are no pipes, whatever the type says. The
  // `error` event, which comes later, has the reason.
  const pipes: readonly Pipe[] = child.stdio ?? [];
  const [infoPipe, gatePipe] = pipes.slice(3 + inputs.length);
  for (const [index, input] of inputs.entries()) {
    writeAll(pipes[index + 3], input);
  }
  failpoint("devtool:command.spawn.after");
  const inner = readChildPid(infoPipe);
  const refusal = check
    ? openWhenChecked(child, inner, check, gatePipe)
    : Promise.resolve(undefined);
  return { child, output: child.stdout ?? Readable.from([]), inner, refusal };
}

type Pipe = ChildProcess["stdio"][number];

/**
 * Writes to a pipe and closes it. Ignores that a process ends before it has
 * read everything: its exit code reports that.
 */
function writeAll(pipe: Pipe | undefined, input: Uint8Array): void {
  if (pipe && "end" in pipe) pipe.once("error", () => undefined).end(input);
}

/**
 * Reads the id of the supervised process. The supervisor writes it while it
 * starts, and closes the pipe.
 */
async function readChildPid(
  pipe: Pipe | undefined,
): Promise<number | undefined> {
  if (!pipe || !("read" in pipe)) return undefined;
  const json = await text(pipe).catch(() => "");
  const pid = /"child-pid":\s*(\d+)/.exec(json)?.[1];
  return pid === undefined ? undefined : Number(pid);
}

/**
 * Lets a supervised program start when its check resolves; otherwise kills it
 * and returns the reason.
 */
async function openWhenChecked(
  child: ChildProcess,
  inner: Promise<number | undefined>,
  check: (pid: number) => Promise<void>,
  gate: Pipe | undefined,
): Promise<Error | undefined> {
  const pid = await inner;
  if (pid === undefined) {
    // There is no process to check. A supervisor that failed has ended by
    // itself; any other must not continue.
    signalGroup(child, "SIGKILL");
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
    // Kill the process before closing the pipe, because the end of the input
    // would let it start too.
    sendSignal(pid, "SIGKILL");
    gate?.destroy();
    return reason instanceof Error
      ? reason
      : new Error("the check failed", { cause: reason });
  }
}
