import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { keepStart } from "@devtool/internal/cut-text";
import { failpoint } from "@devtool/internal/failpoint";
import type { HostPrograms } from "@devtool/sandbox";
import { Code, DevtoolError } from "@devtool/server/agent";

/** Dependencies of `ShadowGit`. */
export interface ShadowGitOptions {
  /**
   * The directory of the repository, which is also the working directory of
   * git. Git never runs in a workspace.
   */
  readonly directory: string;
  /** Finds the git program. */
  readonly programs: HostPrograms;
}

/**
 * Throws `Code.Unavailable` when git is in the workspace: there, a sandboxed
 * command could replace a program that runs without a sandbox.
 */
export function assertGitIsOutside(
  workspacePath: string,
  programs: HostPrograms,
): void {
  const git = programs.find("git", []);
  if (git === undefined || git === programs.find("git", [workspacePath])) {
    return;
  }
  throw new DevtoolError(`${git} lies in the workspace`, Code.Unavailable, {
    remedy: "install git for the system",
  });
}

/**
 * Runs git in one bare repository, isolated from everything else.
 *
 * Git reads no configuration of the user or the system, no hooks and no
 * templates. It gets contents through pipes and never sees a workspace, so
 * nothing in a workspace can configure it.
 */
export class ShadowGit {
  readonly #options: ShadowGitOptions;

  constructor(options: ShadowGitOptions) {
    this.#options = options;
  }

  /**
   * Runs a git command and returns its output.
   *
   * Throws `Code.Unavailable` when git is not installed, and `Code.Internal`
   * when the command fails.
   */
  async run(
    args: readonly string[],
    input: string,
    signal: AbortSignal,
  ): Promise<Buffer> {
    await using command = this.start(args, signal);
    await command.write(input);
    return await command.end();
  }

  /** Starts a git command that takes its input in pieces. */
  start(args: readonly string[], signal: AbortSignal): GitCommand {
    const { directory, programs } = this.#options;
    const git = programs.find("git", []);
    if (git === undefined) throw notInstalled();
    failpoint("devtool:git.spawn.before");
    const child = spawn(git, [...SETTINGS, ...args], {
      cwd: directory,
      env: {
        ...ENVIRONMENT,
        PATH: "/usr/bin:/bin",
        HOME: directory,
        GIT_DIR: directory,
      },
      stdio: "pipe",
      signal,
      killSignal: "SIGKILL",
    });
    failpoint("devtool:git.spawn.after");
    return new GitCommand(child);
  }
}

const ENVIRONMENT = {
  LC_ALL: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_NO_REPLACE_OBJECTS: "1",
} as const;

const SETTINGS = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["gc.auto", "0"],
  ["gc.autoDetach", "false"],
  ["maintenance.auto", "false"],
  ["init.defaultBranch", "main"],
  ["safe.bareRepository", "all"],
  ["safe.directory", "*"],
].flatMap(([name, value]) => ["-c", `${name}=${value}`]);

/** A running git command. */
export class GitCommand implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<void>;
  readonly #output: Buffer[] = [];
  readonly #errors: Buffer[] = [];

  constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    // A failed command may not read all of its input. Its exit code is the
    // error, not the closed pipe.
    child.stdin.on("error", () => {});
    child.stdout.on("data", (chunk: Buffer) => void this.#output.push(chunk));
    child.stderr.on(
      "data",
      (chunk: Buffer) =>
        void (this.#errors.length < 20 && this.#errors.push(chunk)),
    );
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    child.once("error", (reason) =>
      reject(
        "code" in reason && reason.code === "ENOENT" ? notInstalled() : reason,
      ),
    );
    child.once("close", (code) => {
      if (code === 0) return resolve();
      const errors = Buffer.concat(this.#errors).toString("utf8");
      const output = keepStart(errors, 500).trim();
      reject(
        new DevtoolError(
          `git failed with exit code ${code}: ${output}`,
          Code.Internal,
        ),
      );
    });
    this.#ended = promise;
    promise.catch(() => {});
  }

  /** Writes input, and waits while the pipe is full. */
  async write(input: string | Uint8Array): Promise<void> {
    const { stdin } = this.#child;
    if (input.length === 0 || stdin.destroyed) return;
    failpoint("devtool:git.write.before");
    const isReady = stdin.write(input);
    failpoint("devtool:git.write.after");
    if (isReady) return;
    const waited = new AbortController();
    const events = ["drain", "close"].map((event) =>
      once(stdin, event, waited).catch(() => {}),
    );
    try {
      await Promise.race([...events, this.#ended]);
    } finally {
      waited.abort();
    }
  }

  /**
   * Ends the input, waits for the command to end and returns its output. Throws
   * when the command fails.
   */
  async end(): Promise<Buffer> {
    failpoint("devtool:git.end.before");
    this.#child.stdin.end();
    await this.#ended;
    failpoint("devtool:git.end.after");
    return Buffer.concat(this.#output);
  }

  /** Kills the command if it still runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended.catch(() => {});
  }
}

function notInstalled(): DevtoolError {
  return new DevtoolError("git is not installed", Code.Unavailable, {
    remedy: "install it to be able to go back to checkpoints",
  });
}
