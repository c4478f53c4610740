import { accessSync, constants, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { Code, DevtoolError } from "../../errors.ts";
import { BWRAP_EXTRAS, type BwrapOptions, createBwrapSandbox } from "./bwrap-sandbox.ts";
import { noSandbox } from "./no-sandbox.ts";
import type { Sandbox, SandboxedCommand } from "./sandbox.ts";
import { spawnCommand } from "./spawn-command.ts";

/** Which sandbox an operator wants: `auto` takes the best that works. */
export type SandboxKind = "auto" | "none" | "bwrap";

/** What to find a sandbox with. */
export interface FindSandboxOptions {
  /** Paths that no command may reach, whatever it was granted: where tasks and tokens lie. */
  readonly hidden: readonly string[];
  /** The PATH of commands; bwrap itself is looked for in it too. */
  readonly path: string;
  /** The machine, as `process.arch` names it. */
  readonly machine: string;
}

/** Trying a sandbox out may take so long. */
const PROBE_MS = 5000;

/**
 * Finds a sandbox and tries it out with a real process. `auto` without a sandbox that works gives `none`, whose notice
 * says what is missing; asked for by name, it throws that with `Code.FailedPrecondition`. Takes tens of milliseconds:
 * see `lazySandbox`.
 */
export async function findSandbox(
  kind: SandboxKind,
  options: FindSandboxOptions,
  signal: AbortSignal,
): Promise<Sandbox> {
  if (kind === "none") return noSandbox("");
  const found = await findBwrap(options, signal);
  if (typeof found !== "string") return found;
  if (kind === "auto") return noSandbox(found);
  throw new DevtoolError(found, Code.FailedPrecondition);
}

/** Finds a sandbox when it is first needed, and again when that failed. */
export function lazySandbox(find: () => Promise<Sandbox>): () => Promise<Sandbox> {
  let finding: Promise<Sandbox> | undefined;
  return () => {
    finding ??= find().catch((reason: unknown) => {
      finding = undefined;
      throw reason;
    });
    return finding;
  };
}

/** The sandbox, or in words why there is none. */
async function findBwrap(options: FindSandboxOptions, signal: AbortSignal): Promise<Sandbox | string> {
  const program = programIn(`${options.path}:/usr/bin:/bin:/usr/local/bin`);
  if (program === undefined) {
    return 'sandbox "bwrap" cannot be used: bubblewrap is not installed: run apt-get install bubblewrap, or choose "none"';
  }
  let problem = "";
  for (const extras of [BWRAP_EXTRAS, []]) {
    const sandbox = createBwrapSandbox({ ...options, program, extras } satisfies BwrapOptions);
    problem = await problemOf(sandbox, signal);
    if (problem === "") return sandbox;
  }
  return `sandbox "bwrap" cannot be used: ${program} says ${JSON.stringify(problem)}: allow unprivileged user namespaces, or choose "none"`;
}

function programIn(path: string): string | undefined {
  const places = path.split(":").filter(isAbsolute);
  return places.map((directory) => join(directory, "bwrap")).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Runs a program in it; what went wrong, or nothing. */
async function problemOf(sandbox: Sandbox, signal: AbortSignal): Promise<string> {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), "devtool-probe-")));
  try {
    const command = sandbox.command({
      argv: ["/bin/sh", "-c", "exit 0"],
      workingDirectory: workspace,
      environment: {},
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
