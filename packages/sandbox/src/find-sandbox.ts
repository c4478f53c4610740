import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BWRAP_EXTRAS, createBwrapSandbox } from "./bwrap-sandbox.ts";
import { HostPrograms } from "./host-programs.ts";
import { foreignProc } from "./mount-check.ts";
import { noSandbox } from "./no-sandbox.ts";
import type { Sandbox } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";
import { startProcess } from "./start-process.ts";

/**
 * The sandbox to use. `auto` uses bubblewrap where it works, and otherwise
 * none.
 */
export type SandboxKind = "auto" | "none" | "bwrap";

/** Options of `findSandbox`. */
export interface FindSandboxOptions {
  /**
   * Paths that no command can reach, whatever it is granted, such as those of
   * tasks and tokens.
   *
   * Default: none.
   */
  readonly hidden?: readonly string[];
  /**
   * The PATH of commands: the trusted directories of `sortSearchPath`, joined
   * by `:`.
   */
  readonly path: string;
  /**
   * Where bwrap and bash are looked up. Where there is a bwrap and no bash,
   * `findSandbox` rejects with a `SandboxError`, also for `auto`.
   *
   * Default: the system's directories, then `path`.
   */
  readonly programs?: HostPrograms;
  /**
   * The architecture, as in `process.arch`.
   *
   * Default: this machine's.
   */
  readonly machine?: string;
}

/** Timeout of the probe in milliseconds. */
const PROBE_MS = 5000;
/**
 * The time until a sandbox that did not work is tried again, in milliseconds. A
 * probe can fail because the machine is busy.
 */
const RETRY_AFTER_MS = 30_000;

/**
 * Finds a sandbox and probes it by running a process in it, which takes tens of
 * milliseconds, and five seconds at most for each way to start bwrap.
 *
 * Without a sandbox that works, `auto` returns one that confines nothing and
 * whose `notice` says what is missing; `bwrap` rejects with a `SandboxError`
 * that says the same.
 */
export async function findSandbox(
  kind: SandboxKind,
  options: FindSandboxOptions,
  signal: AbortSignal,
): Promise<Sandbox> {
  if (kind === "none") return noSandbox("");
  const found = await findBwrap(options, signal);
  if (!(found instanceof SandboxError)) return found;
  if (kind === "auto") return noSandbox(found.message);
  throw found;
}

/**
 * Returns a function that finds a sandbox on its first call and keeps it.
 *
 * It tries again on the call after a failure and, while the sandbox found has a
 * notice, every 30 seconds. `now` returns the time in milliseconds.
 */
export function lazySandbox(
  find: () => Promise<Sandbox>,
  now: () => number,
): () => Promise<Sandbox> {
  let finding: Promise<Sandbox> | undefined;
  let triedAt = 0;
  const start = async (): Promise<Sandbox> => {
    try {
      return await find();
    } catch (reason) {
      finding = undefined;
      throw reason;
    } finally {
      triedAt = now();
    }
  };
  return async () => {
    finding ??= start();
    const found = await finding;
    if (found.notice === "" || now() - triedAt < RETRY_AFTER_MS) return found;
    triedAt = now();
    finding = start();
    return finding;
  };
}

async function findBwrap(
  options: FindSandboxOptions,
  signal: AbortSignal,
): Promise<Sandbox | SandboxError> {
  const {
    path,
    hidden = [],
    machine = process.arch,
    programs = new HostPrograms(path),
  } = options;
  const unavailable = (problem: string, remedy: string): SandboxError =>
    new SandboxError(
      `sandbox "bwrap" cannot be used: ${problem}`,
      "unavailable",
      { remedy },
    );
  const program = programs.find("bwrap", []);
  if (program === undefined) {
    return unavailable(
      "bubblewrap is not installed",
      'run apt-get install bubblewrap, or choose "none"',
    );
  }
  const foreign = foreignProc();
  if (foreign) return unavailable(foreign.problem, foreign.remedy);
  let problem = "";
  for (const extras of [BWRAP_EXTRAS, []]) {
    const sandbox = createBwrapSandbox({
      path,
      hidden,
      machine,
      program,
      extras,
      findGit: (outside) => programs.find("git", outside),
    });
    const failed = await probe(sandbox, programs.get("bash", []), signal);
    if (failed === undefined) return sandbox;
    if (failed instanceof SandboxError) {
      return unavailable(failed.problem, failed.remedy);
    }
    problem = failed;
  }
  return unavailable(
    `${program} says ${JSON.stringify(problem)}`,
    'allow unprivileged user namespaces, or choose "none"',
  );
}

/**
 * Runs a program in a sandbox. Returns what went wrong: the reason why it could
 * not be confined, or its output.
 */
async function probe(
  sandbox: Sandbox,
  shell: string,
  signal: AbortSignal,
): Promise<SandboxError | string | undefined> {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), "devtool-probe-")));
  try {
    const command = await sandbox.command({
      argv: ["/bin/sh", "-c", "exit 0"],
      workingDirectory: workspace,
      environment: {},
      shell,
      access: {
        workspace,
        workspaceAccess: "read",
        readable: [],
        writable: [],
        network: "none",
      },
    });
    await using running = startProcess(
      command,
      AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]),
    );
    let output = "";
    for await (const text of running.output()) output += text;
    const { exitCode, error } = await running.ended;
    if (error) return error instanceof SandboxError ? error : error.message;
    return exitCode === 0
      ? undefined
      : output.trim() || `exit code ${exitCode}`;
  } finally {
    rmSync(workspace, { recursive: true });
  }
}
