/** What a confined command may reach beside the system's programs and libraries. */
export interface SandboxAccess {
  /** The directory that may be written: canonical, and from the task's settings, never from a call. */
  readonly workspace: string;
  /** Further absolute paths that may be read. */
  readonly readable: readonly string[];
  /** Further absolute paths that may be written. */
  readonly writable: readonly string[];
  /** Whether the workspace may be written. Default: `write`. */
  readonly workspaceAccess?: "read" | "write";
  /** `none` reaches nothing, not even this machine's own ports; `host` reaches what the server reaches. */
  readonly network: "none" | "host";
}

/** What each process of a program may use up. */
export interface ProcessLimits {
  /** Memory that it may write, in KiB. */
  readonly memoryKib: number;
  /** Processor time in seconds. */
  readonly cpuSeconds: number;
  /** The size of each of its scratch directories in bytes, where the sandbox has such. */
  readonly scratchBytes: number;
}

/** A program to run, and what it may reach. */
export interface SandboxRequest {
  /** The program and its arguments; a program without a slash is looked up in the environment's PATH. */
  readonly argv: readonly string[];
  /** The directory it starts in: a real absolute path. */
  readonly workingDirectory: string;
  /** All of its environment, but for what the sandbox sets itself. */
  readonly environment: Readonly<Record<string, string>>;
  /** The absolute path of a bash that starts it: outside of the sandbox, so no command may be able to change it. */
  readonly shell: string;
  readonly access: SandboxAccess;
  /** Default: no limits but the machine's. */
  readonly limits?: ProcessLimits | undefined;
}

/** How to start a program so that it is confined. */
export interface SandboxedCommand {
  readonly argv: readonly string[];
  readonly workingDirectory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The absolute path of the bash that starts it. */
  readonly shell: string;
  readonly limits?: ProcessLimits | undefined;
  /** What it reads from the descriptors 3, 4, … while it starts. */
  readonly inputs: readonly Uint8Array[];
  /**
   * Whether the process that is started only supervises the program, in a process namespace that ends with its first process.
   *
   * Then it writes JSON with a `child-pid` to the descriptor after those of the inputs: the id of that first process. Signals
   * are for the processes below it. Otherwise the process is the program, and leads its process group.
   */
  readonly supervised: boolean;
  /**
   * Checks a supervised program before it starts, given the `child-pid`.
   *
   * With this the supervisor sets everything up and then waits for a byte on the descriptor after that of the JSON, which it gets when the
   * check has resolved. When it rejects, the command is killed and ends with that error.
   */
  readonly check?: (pid: number) => Promise<void>;
  /** Called when it starts; what it gives is disposed of when it has ended, and clears away what the sandbox made for it. */
  readonly hold?: () => Disposable;
  /** What of the workspace it only reads; undefined where nothing confines it. */
  readonly guarded?: GuardedPlaces;
}

/** A symbolic link in a guarded place: nothing can be mounted over it. */
export interface GuardedLink {
  readonly path: string;
  readonly target: string;
}

/** What of a workspace commands may only read, since programs outside of the sandbox run what it says. All paths are absolute. */
export interface GuardedPlaces {
  readonly workspace: string;
  /** What is there, by its real path. */
  readonly present: readonly string[];
  /** What is not there, and is in a directory that is. */
  readonly missing: readonly string[];
  /** The links among them, which a command may replace until it ends. */
  readonly links: readonly GuardedLink[];
  /** What no grant makes writable: the repositories that git asks beside `.git`. */
  readonly repositories: readonly string[];
}

/** Keeps the processes of a command in bounds. */
export interface Sandbox {
  /** How it does that, for instance `bwrap`. */
  readonly name: string;
  /** Whether it confines at all: only then may a command run without anybody being asked. */
  readonly confines: boolean;
  /** Why there is nothing better, for an operator; empty when this is what was asked for. */
  readonly notice: string;
  /** Makes the command to start. Rejects with a `SandboxError` when it cannot confine it so. */
  command(request: SandboxRequest): Promise<SandboxedCommand>;
  /** Whether it would make a path writable beside the workspace: some are never, whoever asks. */
  canGrant(path: string, guarded: GuardedPlaces): boolean;
}
