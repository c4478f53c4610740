import { defined } from "@devtool/internal/json";
import {
  type GuardedPlaces,
  type ProcessLimits,
  type RunningProcess,
  type Sandbox,
  type SandboxAccess,
  SandboxError,
  startProcess,
} from "@devtool/sandbox";

/** A validated command line. */
export interface ShellCommand {
  readonly command: string;
  /** The real path of a directory in the workspace. */
  readonly workingDirectory: string;
  /**
   * Throws if the directory is no longer the one that the user saw. An earlier
   * run of the command may have moved it.
   */
  readonly assertUnmoved: () => void;
  /**
   * Throws if a process in its sandbox sees another directory in the place of
   * the workspace: what is mounted by its path may have been put there for a
   * moment.
   */
  readonly assertSeenBy: (pid: number) => void;
}

/** The sandbox of a command line, and what the command has in it. */
export interface CommandStart {
  /** The environment variables of the command. */
  readonly environment: Readonly<Record<string, string>>;
  readonly sandbox: Sandbox;
  /** The absolute path of bash. */
  readonly shell: string;
  readonly limits?: ProcessLimits | undefined;
  readonly access: SandboxAccess;
  /**
   * Set for a command that ends soon: the settings that the workspace does not
   * have are not shown to it.
   */
  readonly missingSettings?: "watch";
}

/** A process of a command line. */
export interface StartedCommand {
  readonly process: RunningProcess;
  /**
   * The parts of the workspace that are read-only. Undefined when no sandbox
   * confines the command.
   */
  readonly guarded: GuardedPlaces | undefined;
}

/**
 * Starts a command line in its sandbox. The process ends when `signal` aborts.
 *
 * Starts it once more when something in the workspace was replaced while it was
 * starting: another server may have removed a placeholder. Nothing of the
 * command has run then.
 */
export async function startCommand(
  shell: ShellCommand,
  options: CommandStart,
  signal: AbortSignal,
): Promise<StartedCommand> {
  const first = await startOnce(shell, options, signal);
  const refusal = await first.process.refusal;
  const isReplaced =
    refusal instanceof SandboxError && refusal.reason === "replaced";
  if (!isReplaced || signal.aborted) return first;
  await first.process[Symbol.asyncDispose]();
  return startOnce(shell, options, signal);
}

async function startOnce(
  { command, workingDirectory, assertUnmoved, assertSeenBy }: ShellCommand,
  {
    environment,
    sandbox,
    shell,
    access,
    limits,
    missingSettings,
  }: CommandStart,
  signal: AbortSignal,
): Promise<StartedCommand> {
  assertUnmoved();
  const argv = [shell, "-c", command, "bash"];
  const confined = await sandbox.command(
    defined({
      argv,
      workingDirectory,
      environment,
      shell,
      access,
      limits,
      missingSettings,
      gitIdentity: access.workspaceAccess === "read" ? undefined : "user",
    }),
  );
  const { check, guarded } = confined;
  const checked = {
    ...confined,
    check:
      check &&
      (async (pid: number) => {
        await check(pid);
        assertSeenBy(pid);
      }),
  };
  return { process: startProcess(defined(checked), signal), guarded };
}
