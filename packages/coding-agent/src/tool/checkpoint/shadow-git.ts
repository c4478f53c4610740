import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import type { HostPrograms } from "@devtool/sandbox";
import { Code, DevtoolError, failpoint } from "@devtool/server/agent";

/** Where a shadow repository lies and how git is found. */
export interface ShadowGitOptions {
  /** The repository: a directory of ours. Git also runs in it, never in a workspace. */
  readonly directory: string;
  /** Where git is looked for. */
  readonly programs: HostPrograms;
}

/**
 * A git that knows one bare repository and nothing else: no configuration of the user or the system, no hooks, no
 * templates, no workspace. Content is handed to it over pipes, so nothing in a workspace can configure it.
 */
export class ShadowGit {
  readonly #options: ShadowGitOptions;

  constructor(options: ShadowGitOptions) {
    this.#options = options;
  }

  /** Runs a command to its end and gives its output. Throws `Code.Unavailable` when there is no git, `Code.Internal` when it fails. */
  async run(args: readonly string[], input: string, signal: AbortSignal): Promise<Buffer> {
    await using command = this.start(args, signal);
    await command.write(input);
    return await command.end();
  }

  /** Starts a command that takes its input bit by bit. */
  start(args: readonly string[], signal: AbortSignal): GitCommand {
    const { directory, programs } = this.#options;
    const git = programs.find("git", []);
    if (git === undefined) throw notInstalled();
    failpoint("devtool:git.spawn.before");
    const child = spawn(git, [...SETTINGS, ...args], {
      cwd: directory,
      env: { ...ENVIRONMENT, PATH: "/usr/bin:/bin", HOME: directory, GIT_DIR: directory },
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

/** A git command that runs. */
export class GitCommand implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<void>;
  readonly #output: Buffer[] = [];
  readonly #errors: Buffer[] = [];

  constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    // What a command that fails does not read is no error of its own.
    child.stdin.on("error", () => {});
    child.stdout.on("data", (chunk: Buffer) => void this.#output.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => void (this.#errors.length < 20 && this.#errors.push(chunk)));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    child.once("error", (reason) => reject(startError(reason)));
    child.once("close", (code) => (code === 0 ? resolve() : reject(this.#failure(code))));
    this.#ended = promise;
    promise.catch(() => {});
  }

  /** Hands it input, and waits while it has enough. */
  async write(input: string | Uint8Array): Promise<void> {
    const { stdin } = this.#child;
    if (input.length === 0 || stdin.destroyed) return;
    failpoint("devtool:git.write.before");
    const isReady = stdin.write(input);
    failpoint("devtool:git.write.after");
    if (isReady) return;
    const waited = new AbortController();
    const wait = (event: string): Promise<unknown> => once(stdin, event, waited).catch(() => {});
    try {
      await Promise.race([wait("drain"), wait("close"), this.#ended]);
    } finally {
      waited.abort();
    }
  }

  /** Ends its input, waits for its end and gives all of its output. Throws when it fails. */
  async end(): Promise<Buffer> {
    failpoint("devtool:git.end.before");
    this.#child.stdin.end();
    await this.#ended;
    failpoint("devtool:git.end.after");
    return Buffer.concat(this.#output);
  }

  /** Ends it, whatever it does. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended.catch(() => {});
  }

  #failure(code: number | null): DevtoolError {
    const words = Buffer.concat(this.#errors).toString("utf8").slice(0, 500).trim();
    return new DevtoolError(`git failed with exit code ${code}: ${words}`, Code.Internal);
  }
}

function startError(reason: Error): Error {
  if (!("code" in reason) || reason.code !== "ENOENT") return reason;
  return notInstalled();
}

function notInstalled(): DevtoolError {
  return new DevtoolError("git is not installed", Code.Unavailable, {
    remedy: "install it to be able to go back to checkpoints",
  });
}
