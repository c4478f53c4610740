/** What a confined command may reach beside the system's programs and libraries. */
export interface SandboxAccess {
  /** The directory that may be written: canonical, and from the task's settings, never from a call. */
  readonly workspace: string;
  /** Further absolute paths that may be read. */
  readonly readable: readonly string[];
  /** Further absolute paths that may be written. */
  readonly writable: readonly string[];
  /** `none` reaches nothing, not even this machine's own ports; `host` reaches what the server reaches. */
  readonly network: "none" | "host";
}

/** A program to run, and what it may reach. */
export interface SandboxRequest {
  /** The program and its arguments; a program without a slash is looked up in the environment's PATH. */
  readonly argv: readonly string[];
  /** The directory it starts in: a real absolute path. */
  readonly workingDirectory: string;
  /** All of its environment, but for what the sandbox sets itself. */
  readonly environment: Readonly<Record<string, string>>;
  readonly access: SandboxAccess;
}

/** How to start a program so that it is confined. */
export interface SandboxedCommand {
  readonly argv: readonly string[];
  readonly workingDirectory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** What it reads from the descriptors 3, 4, … while it starts. */
  readonly inputs: readonly Uint8Array[];
  /**
   * Whether the process that is started only watches over the program's. Then it says on the descriptor after those of
   * the inputs, in JSON as `child-pid`, with which process all of them end; signals are for those below that one.
   * Otherwise it is the program, and leads its process group.
   */
  readonly supervised: boolean;
}

/** Keeps the processes of a command in bounds. */
export interface Sandbox {
  /** How it does that, for instance `bwrap`. */
  readonly name: string;
  /** Whether it confines at all: only then may a command run without anybody being asked. */
  readonly confines: boolean;
  /** Why there is nothing better, for an operator; empty when this is what was asked for. */
  readonly notice: string;
  /** Makes the command to start. Throws a `DevtoolError` with `Code.FailedPrecondition` when it cannot confine it so. */
  command(request: SandboxRequest): SandboxedCommand;
  /** Whether it would make a path writable beside the workspace: some are never, whoever asks. */
  canGrant(path: string, workspace: string): boolean;
}
