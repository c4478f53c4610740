import { BWRAP_EXTRAS, createBwrapSandbox } from "./bwrap-sandbox.ts";
import { HostPrograms } from "./host-programs.ts";
import { foreignProc } from "./mount-check.ts";
import { noSandbox } from "./no-sandbox.ts";
import { probe } from "./probe.ts";
import type { Sandbox } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";
import { createSrtSandbox } from "./srt-sandbox.ts";

/**
 * The sandbox to use. `srt` is the program of `@anthropic-ai/sandbox-runtime`.
 * `auto` uses bubblewrap where it works, otherwise `srt` where it works, and
 * otherwise none.
 */
export type SandboxKind = "auto" | "none" | "bwrap" | "srt";

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
   * Where bwrap, srt and bash are looked up. Where there is a bwrap and no bash,
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

/**
 * The time until a sandbox that did not work is tried again, in milliseconds. A
 * probe can fail because the machine is busy.
 */
const RETRY_AFTER_MS = 30_000;

/**
 * Finds a sandbox and probes it: a process in it tries to write outside of the
 * workspace and to connect to a port of this machine. That takes tens of
 * milliseconds with bwrap and a second with srt, and a minute at most for each way
 * to start one.
 *
 * Without a sandbox that works, `auto` returns one that confines nothing and
 * whose `notice` says what is missing; the others reject with a `SandboxError`
 * that says the same.
 */
export async function findSandbox(
  kind: SandboxKind,
  options: FindSandboxOptions,
  signal: AbortSignal,
): Promise<Sandbox> {
  if (kind === "none") return noSandbox("");
  const problems: SandboxError[] = [];
  for (const find of FINDERS[kind]) {
    const found = await find(options, signal);
    if (!(found instanceof SandboxError)) return found;
    problems.push(found);
  }
  const [bwrap, srt = bwrap] = problems;
  if (kind !== "auto") throw bwrap;
  // On Linux srt needs bwrap, so it is not what is missing there.
  const isLinux = process.platform === "linux";
  const needed = isLinux && srt?.reason === "missing-program" ? bwrap : srt;
  return noSandbox(needed?.message ?? "");
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
      `${programs.remedy("bwrap")}, or choose "none"`,
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
    const shell = programs.get("bash", []);
    const failed = await probe(sandbox, { shell, path }, signal);
    if (failed === undefined) return sandbox;
    if (failed instanceof SandboxError) {
      return unavailable(failed.problem, failed.remedy);
    }
    problem = failed;
  }
  return unavailable(
    `${program} says ${JSON.stringify(problem)}`,
    'allow unprivileged user namespaces (in a container: docs/sandbox.md, "In a container"), or choose "none", which leaves commands to what confines the server',
  );
}

async function findSrt(
  { path, hidden = [], programs = new HostPrograms(path) }: FindSandboxOptions,
  signal: AbortSignal,
): Promise<Sandbox | SandboxError> {
  const program = programs.find("srt", []);
  if (program === undefined) {
    return new SandboxError(
      'sandbox "srt" cannot be used: @anthropic-ai/sandbox-runtime is not installed',
      "missing-program",
      {
        remedy:
          'run npm install -g @anthropic-ai/sandbox-runtime, or choose "none"',
      },
    );
  }
  const sandbox = createSrtSandbox({ program, hidden, path });
  const shell = programs.get("bash", []);
  const failed = await probe(sandbox, { shell, path }, signal);
  if (failed === undefined) return sandbox;
  const problem =
    failed instanceof SandboxError
      ? failed.problem
      : `${program} says ${JSON.stringify(failed)}`;
  return new SandboxError(
    `sandbox "srt" cannot be used: ${problem}`,
    "unavailable",
    { remedy: 'install what it asks for, or choose "none"' },
  );
}

const FINDERS = {
  auto: [findBwrap, findSrt],
  bwrap: [findBwrap],
  srt: [findSrt],
} as const;
