import { type ChildProcess, spawn } from "node:child_process";
import { Readable } from "node:stream";
import type { SandboxedCommand } from "./sandbox.ts";

/** A process whose two outputs come through one pipe, in the order in which it wrote. */
export interface SpawnedCommand {
  readonly child: ChildProcess;
  readonly output: Readable;
}

/** Makes the program's standard error the same pipe as its standard output; the shell becomes the program. */
const ONE_PIPE = ["-c", 'exec "$@" 2>&1', "sh"];

/** Starts a command in a process group of its own, with nothing to read. */
export function spawnCommand({ argv, workingDirectory, environment, inputs }: SandboxedCommand): SpawnedCommand {
  const child = spawn("/bin/sh", [...ONE_PIPE, ...argv], {
    cwd: workingDirectory,
    env: { ...environment },
    detached: true,
    stdio: ["ignore", "pipe", "ignore", ...inputs.map((): "pipe" => "pipe")],
  });
  for (const [index, input] of inputs.entries()) {
    const pipe = child.stdio[index + 3];
    if (pipe && "end" in pipe) pipe.once("error", () => undefined).end(input);
  }
  return { child, output: child.stdout ?? Readable.from([]) };
}
