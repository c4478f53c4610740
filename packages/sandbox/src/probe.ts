import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { noSandbox } from "./no-sandbox.ts";
import type { Sandbox } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";
import { type ProcessEnd, startProcess } from "./start-process.ts";

/**
 * Timeout of each command of the probe in milliseconds, longer than a busy
 * machine takes: without an answer, commands run without the sandbox.
 */
const PROBE_MS = 60_000;

/** Writes in the workspace and outside of it, and connects to a port. */
const SCRIPT = `echo > inside && echo ran
echo > "$1/outside"
: < "/dev/tcp/127.0.0.1/$2"
exit 0`;

/** What a probe runs. */
export interface ProbePrograms {
  /** The absolute path of bash. */
  readonly shell: string;
  /** The PATH of commands. */
  readonly path: string;
}

/** What the script of the probe did, seen from outside. */
interface Attempt {
  /** Why it did not run as it should; undefined when it did. */
  readonly problem: SandboxError | string | undefined;
  readonly wroteOutside: boolean;
  readonly connected: boolean;
}

/**
 * Runs a script in a sandbox that writes outside of the workspace and connects
 * to a port of this process. Both must fail, and both must succeed without the
 * sandbox: otherwise the probe would prove nothing.
 *
 * Returns what went wrong: the reason why the script could not be confined, or a
 * description.
 */
export async function probe(
  sandbox: Sandbox,
  { shell, path }: ProbePrograms,
  signal: AbortSignal,
): Promise<SandboxError | string | undefined> {
  const confined = await attempt(sandbox, { shell, path }, signal);
  if (confined.problem !== undefined) return confined.problem;
  if (confined.wroteOutside) {
    return untrusted("a command in it wrote outside of its workspace");
  }
  if (confined.connected) {
    return untrusted("a command in it connected to a port of this machine");
  }
  const free = await attempt(noSandbox(""), { shell, path }, signal);
  return free.wroteOutside && free.connected
    ? undefined
    : untrusted(
        "it cannot be tested: what must fail in it fails without it, too",
      );
}

function untrusted(problem: string): SandboxError {
  return new SandboxError(problem, "cannot-confine", {
    remedy: 'choose "none"',
  });
}

async function attempt(
  sandbox: Sandbox,
  { shell, path }: ProbePrograms,
  signal: AbortSignal,
): Promise<Attempt> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "devtool-probe-")));
  const workspace = join(base, "workspace");
  const outside = join(base, "outside");
  let connected = false;
  const server = createServer((socket) => {
    connected = true;
    socket.destroy();
  });
  try {
    mkdirSync(workspace);
    mkdirSync(outside);
    await once(server.listen(0, "127.0.0.1"), "listening");
    const address = server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const command = await sandbox.command({
      argv: [shell, "-c", SCRIPT, "bash", outside, String(port)],
      workingDirectory: workspace,
      environment: { PATH: path },
      shell,
      access: { workspace, readable: [], writable: [], network: "none" },
    });
    await using running = startProcess(
      command,
      AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]),
    );
    let output = "";
    for await (const text of running.output()) output += text;
    const end = await running.ended;
    // A connection that the kernel has accepted is told in the next turns.
    await nextTurn();
    await nextTurn();
    return {
      problem: problemOf(end, output),
      wroteOutside: existsSync(join(outside, "outside")),
      connected,
    };
  } finally {
    server.close();
    rmSync(base, { recursive: true });
  }
}

/** Why a script did not run as it should; undefined when it did. */
function problemOf(
  { exitCode, error }: ProcessEnd,
  output: string,
): SandboxError | string | undefined {
  if (error) return error instanceof SandboxError ? error : error.message;
  if (exitCode === 0 && /^ran$/m.test(output)) return undefined;
  return output.trim() || `exit code ${exitCode}`;
}
