/**
 * The files and the network that a confined command may reach in addition to
 * the system's programs and libraries.
 */
export interface SandboxAccess {
  /**
   * The directory that the command works in, by its real path.
   *
   * It comes from the settings of a task and never from what a model writes.
   */
  readonly workspace: string;
  /**
   * Further absolute real paths that may be read. A path that leads through a
   * link is left out.
   */
  readonly readable: readonly string[];
  /**
   * Further absolute real paths that may be written. One that `Sandbox.canGrant`
   * refuses stays as it is.
   */
  readonly writable: readonly string[];
  /** Whether the workspace may be written. Default: `write`. */
  readonly workspaceAccess?: "read" | "write";
  /**
   * `none` reaches nothing, not even this machine's own ports.
   *
   * `host` reaches what this process reaches.
   */
  readonly network: "none" | "host";
}

/**
 * Limits for a command. Those of memory and processor time hold for each of its
 * processes, not for their sum.
 *
 * They also hold for a command that no sandbox confines, except for
 * `scratchBytes`.
 */
export interface ProcessLimits {
  /**
   * Maximum memory for data, in KiB (`ulimit -d`). An allocation beyond it
   * fails in the process.
   */
  readonly memoryKib: number;
  /**
   * Maximum processor time, in seconds (`ulimit -t`). The kernel ends a process
   * that has used it up.
   */
  readonly cpuSeconds: number;
  /**
   * Size of each scratch directory in bytes, where the sandbox can limit it.
   */
  readonly scratchBytes: number;
}

/** A program to run, and what it may reach. */
export interface SandboxRequest {
  /**
   * The program and its arguments. A program without a slash is looked up in
   * the PATH of `environment`.
   */
  readonly argv: readonly string[];
  /** The directory to start in: an absolute real path. */
  readonly workingDirectory: string;
  /**
   * The whole environment, except for the variables that the sandbox sets
   * itself.
   */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * The absolute path of the bash that starts the program.
   *
   * It runs outside of the sandbox, so no command may be able to change it.
   */
  readonly shell: string;
  readonly access: SandboxAccess;
  /** Default: no limits but the machine's. */
  readonly limits?: ProcessLimits | undefined;
  /**
   * How the command is kept from making settings of editors and agents that are
   * missing.
   *
   * With `hold` each is an empty directory that cannot be written, which the
   * command and its user see. With `watch` nothing is there; what the command
   * makes is renamed at once and reported (`ProcessEnd.taken`), which is for
   * commands that end soon: it cannot be told from what others make meanwhile.
   * Default: `hold`.
   */
  readonly missingSettings?: "hold" | "watch";
  /**
   * Set to show the name and the address that the user has configured for
   * commits in the workspace, and nothing else of that configuration. Default:
   * not shown.
   */
  readonly gitIdentity?: "user" | undefined;
}

/**
 * A process to start so that a program runs confined. `startProcess` starts it.
 */
export interface SandboxedCommand {
  readonly argv: readonly string[];
  readonly workingDirectory: string;
  /**
   * The environment of the process and of the bash that starts it.
   *
   * Where these run outside of the sandbox it has nothing of the request, whose
   * variables are set inside.
   */
  readonly environment: Readonly<Record<string, string>>;
  /** The absolute path of the bash that starts it. */
  readonly shell: string;
  readonly limits?: ProcessLimits | undefined;
  /** Data that the process reads from descriptors 3, 4, … while it starts. */
  readonly inputs: readonly Uint8Array[];
  /**
   * Whether the process only supervises the program, in a process namespace
   * that ends with its first process.
   *
   * Then it writes JSON with a `child-pid` to the descriptor after those of the
   * inputs: the id of that first process. Signals are for the processes below
   * it. Otherwise the process is the program, and leads its process group.
   */
  readonly supervised: boolean;
  /**
   * Checks a supervised program before it starts, given the `child-pid`.
   *
   * With a check, the supervisor sets everything up and then waits for a byte
   * on the descriptor after that of the JSON. It gets one when the check
   * resolves. When the check rejects, the command is killed and ends with that
   * error.
   */
  readonly check?: (pid: number) => Promise<void>;
  /**
   * Prepares the file system just before the start. The result is disposed of
   * when the command has ended, and undoes that. `end` ends the command.
   */
  readonly hold?: (end?: () => void) => Holding;
  /**
   * Returns the exit code of the program; undefined when a signal ended it. Set
   * where the process that starts it returns 0 for both. Called when it has
   * returned 0, before `hold` is undone.
   */
  readonly exitCode?: () => number | undefined;
  /**
   * Renames what the command left for git outside of the sandbox to run. Called
   * when all of its processes have ended, after `hold` was undone.
   */
  readonly disarm?: () => Promise<readonly TakenPlace[]>;
  /**
   * The places in the workspace that it can only read; undefined where nothing
   * confines it.
   */
  readonly guarded?: GuardedPlaces;
}

/** What is held for one command. Disposing of it ends that. */
export interface Holding extends Disposable {
  /** The missing settings that appeared. Complete when disposed of. */
  readonly taken: readonly TakenPlace[];
}

/** A guarded place that appeared while commands ran that may not make it. */
export interface TakenPlace {
  readonly path: string;
  /** Where its content is now: `<path>.replaced-1`, which nothing reads. */
  readonly keptAs: string;
}

/** A symbolic link in a guarded place. Nothing can be mounted over it. */
export interface GuardedLink {
  /** The absolute path of the link itself. */
  readonly path: string;
  /** What the link contains, which may be a relative path. */
  readonly target: string;
}

/**
 * The places in a workspace that commands can only read, since programs outside
 * of the sandbox take from them what to run.
 *
 * All paths are absolute.
 */
export interface GuardedPlaces {
  readonly workspace: string;
  /** Existing places, by their real paths. */
  readonly present: readonly string[];
  /** Places that do not exist, in directories that do. */
  readonly missing: readonly string[];
  /** Files of git's configuration that do not exist, in directories that do. */
  readonly missingFiles: readonly string[];
  /** Links at guarded places. A command may replace them while it runs. */
  readonly links: readonly GuardedLink[];
  /**
   * Repositories that git looks into in addition to `.git`. No grant makes them
   * writable.
   */
  readonly repositories: readonly string[];
  /**
   * Directories outside of the workspace that belong to repositories of the
   * workspace or around it, by their real paths.
   *
   * A grant makes them writable, but not their hooks and configuration.
   */
  readonly gitDirectories: readonly string[];
}

/**
 * Confines the processes of commands. One serves all commands of this process:
 * the guarded places of a workspace are read for each of them.
 */
export interface Sandbox {
  /** The name of the mechanism, such as `bwrap`. */
  readonly name: string;
  /**
   * Whether it confines at all. Only then may a command run without approval.
   */
  readonly confines: boolean;
  /** What it keeps a command from, for an operator: a clause without an end. */
  readonly promise: string;
  /**
   * Why there is no better sandbox, for an operator; empty when this is the one
   * that was asked for.
   */
  readonly notice: string;
  /**
   * Returns the process to start for a request. Rejects with a `SandboxError`
   * for one that it cannot confine.
   */
  command(request: SandboxRequest): Promise<SandboxedCommand>;
  /**
   * Returns whether a path outside of the workspace, or a guarded one in it,
   * may be made writable when a user grants that.
   */
  canGrant(path: string, guarded: GuardedPlaces): boolean;
}
