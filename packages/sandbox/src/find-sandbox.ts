import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BWRAP_EXTRAS, createBwrapSandbox } from "./bwrap-sandbox.ts";
import { HostPrograms } from "./host-programs.ts";
import { noSandbox } from "./no-sandbox.ts";
import type { Sandbox, SandboxedCommand } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";
import { spawnCommand } from "./spawn-command.ts";

/** Which sandbox an operator wants: `auto` takes the best that works. */
export type SandboxKind = "auto" | "none" | "bwrap";

/** What to find a sandbox with. */
export interface FindSandboxOptions {
  /** Paths that no command may reach, whatever it was granted: where tasks and tokens lie. Default: none. */
  readonly hidden?: readonly string[];
  /** The PATH of commands, cleaned. */
  readonly path: string;
  /** Where bwrap and bash are looked for. Default: the system, then the PATH. */
  readonly programs?: HostPrograms;
  /** The machine, as `process.arch` names it. Default: this one. */
  readonly machine?: string;
}

/** The timeout of trying a sandbox out. */
const PROBE_MS = 5000;

/**
 * Finds a sandbox and tries it out with a real process. `auto` without a sandbox that works gives `none`, whose notice
 * says what is missing; asked for by name, it throws that as a `SandboxError`. Takes tens of milliseconds:
 * see `lazySandbox`.
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

/** A sandbox that did not work is tried again after this time: a probe can fail because the machine is busy. */
const TRY_AGAIN_MS = 30_000;

/**
 * Finds a sandbox when it is first needed, and again when that failed; where `auto` found none that works, again when
 * one is needed later. The clock is in milliseconds.
 */
export function lazySandbox(find: () => Promise<Sandbox>, now: () => number): () => Promise<Sandbox> {
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
    if (found.notice === "" || now() - triedAt < TRY_AGAIN_MS) return found;
    triedAt = now();
    finding = start();
    return finding;
  };
}

/** The sandbox, or why there is none. */
async function findBwrap(options: FindSandboxOptions, signal: AbortSignal): Promise<Sandbox | SandboxError> {
  const { path, hidden = [], machine = process.arch, programs = new HostPrograms(path) } = options;
  const program = programs.find("bwrap", []);
  if (program === undefined) {
    return unusable("bubblewrap is not installed", 'run apt-get install bubblewrap, or choose "none"');
  }
  let problem = "";
  for (const extras of [BWRAP_EXTRAS, []]) {
    const sandbox = createBwrapSandbox({ path, hidden, machine, program, extras });
    problem = await problemOf(sandbox, programs.get("bash", []), signal);
    if (problem === "") return sandbox;
  }
  return unusable(`${program} says ${JSON.stringify(problem)}`, 'allow unprivileged user namespaces, or choose "none"');
}

function unusable(why: string, remedy: string): SandboxError {
  return new SandboxError(`sandbox "bwrap" cannot be used: ${why}`, "unavailable", { remedy });
}

/** Runs a program in it; what went wrong, or nothing. */
async function problemOf(sandbox: Sandbox, shell: string, signal: AbortSignal): Promise<string> {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), "devtool-probe-")));
  try {
    const command = await sandbox.command({
      argv: ["/bin/sh", "-c", "exit 0"],
      workingDirectory: workspace,
      environment: {},
      shell,
      access: { workspace, readable: [], writable: [], network: "none" },
    });
    return await outcomeOf(command, AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]));
  } finally {
    rmSync(workspace, { recursive: true });
  }
}

function outcomeOf(command: SandboxedCommand, signal: AbortSignal): Promise<string> {
  const outcome = Promise.withResolvers<string>();
  const { child, output } = spawnCommand(command);
  let said = "";
  output.on("data", (chunk: Buffer) => (said += chunk.toString()));
  child.once("error", (reason) => outcome.resolve(reason.message));
  child.once("close", (code) => outcome.resolve(code === 0 ? "" : said.trim() || `exit code ${code}`));
  const stop = (): void => void child.kill("SIGKILL");
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  return outcome.promise.finally(() => signal.removeEventListener("abort", stop));
}
