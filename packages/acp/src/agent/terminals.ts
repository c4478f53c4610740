import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import type {
  ClientApp,
  CreateTerminalRequest,
  TerminalExitStatus,
  TerminalOutputResponse,
} from "@agentclientprotocol/sdk";
import { Code, DevtoolError, failpoint, quoted } from "@devtool/server/agent";
import { inheritedEnvironment } from "./agent-process.ts";
import { workspacePathOf } from "./workspace-path.ts";

/** The maximum size of the output that a terminal keeps, in bytes. */
const MAX_OUTPUT_BYTES: number = 1024 * 1024;
/** The maximum number of terminals that an agent may have at a time. */
const MAX_TERMINALS = 32;

/** One command of an agent. */
interface Terminal {
  readonly child: ChildProcess;
  readonly ended: Promise<TerminalExitStatus>;
  readonly maxBytes: number;
  output: Buffer;
  isTruncated: boolean;
  status: TerminalExitStatus | undefined;
}

/** The methods `terminal/*` for an agent: commands that start in the workspace of its session, without a shell. */
export class Terminals implements AsyncDisposable {
  readonly #workspacePath: string;
  readonly #onOutput: (terminalId: string) => void;
  readonly #terminals = new Map<string, Terminal>();
  /** The output of terminals that were released, which calls may still show. */
  readonly #released = new Map<string, string>();

  constructor(workspacePath: string, onOutput: (terminalId: string) => void) {
    this.#workspacePath = workspacePath;
    this.#onOutput = onOutput;
  }

  register(app: ClientApp): void {
    app.onRequest("terminal/create", async ({ params }) => ({ terminalId: await this.#create(params) }));
    app.onRequest("terminal/output", ({ params }) => this.#output(params.terminalId));
    app.onRequest("terminal/wait_for_exit", ({ params }) => this.#find(params.terminalId).ended);
    app.onRequest("terminal/kill", ({ params }) => {
      kill(this.#find(params.terminalId));
      return {};
    });
    app.onRequest("terminal/release", async ({ params }) => {
      await this.#release(params.terminalId);
      return {};
    });
  }

  /** Returns the output of a terminal as text; undefined for an unknown terminal. */
  outputOf(terminalId: string): string | undefined {
    return this.#terminals.get(terminalId)?.output.toString("utf8") ?? this.#released.get(terminalId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#terminals.keys()].map((id) => this.#release(id)));
  }

  async #create({ command, args = [], env = [], cwd, outputByteLimit }: CreateTerminalRequest): Promise<string> {
    if (this.#terminals.size >= MAX_TERMINALS)
      throw new DevtoolError(`the agent has ${MAX_TERMINALS} terminals: release one`, Code.ResourceExhausted);
    const directory = dirname(await workspacePathOf(this.#workspacePath, join(cwd ?? this.#workspacePath, "x")));
    const environment = {
      ...inheritedEnvironment(),
      ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
    };
    const terminalId = randomUUID();
    failpoint("devtool:acp.terminal.before");
    const child = spawn(command, [...args], {
      cwd: directory,
      env: environment,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    failpoint("devtool:acp.terminal.after");
    const ended = Promise.withResolvers<TerminalExitStatus>();
    const maxBytes = Math.min(outputByteLimit ?? MAX_OUTPUT_BYTES, MAX_OUTPUT_BYTES);
    const terminal: Terminal = {
      child,
      ended: ended.promise,
      maxBytes,
      output: Buffer.alloc(0),
      isTruncated: false,
      status: undefined,
    };
    const finish = (status: TerminalExitStatus): void => {
      terminal.status ??= status;
      ended.resolve(terminal.status);
    };
    const take = (chunk: Buffer): void => {
      keep(terminal, chunk);
      this.#onOutput(terminalId);
    };
    for (const stream of [child.stdout, child.stderr]) stream.on("data", take);
    child.once("error", (error) => {
      take(Buffer.from(`${error.message}\n`));
      finish({ exitCode: 127, signal: null });
    });
    child.once("close", (exitCode, signal) => finish({ exitCode, signal }));
    this.#terminals.set(terminalId, terminal);
    return terminalId;
  }

  #output(terminalId: string): TerminalOutputResponse {
    const { output, isTruncated, status } = this.#find(terminalId);
    return { output: output.toString("utf8"), truncated: isTruncated, ...(status ? { exitStatus: status } : {}) };
  }

  async #release(terminalId: string): Promise<void> {
    const terminal = this.#find(terminalId);
    this.#terminals.delete(terminalId);
    kill(terminal);
    await terminal.ended;
    this.#released.set(terminalId, terminal.output.toString("utf8"));
  }

  #find(terminalId: string): Terminal {
    const terminal = this.#terminals.get(terminalId);
    if (!terminal) throw new DevtoolError(`terminal ${quoted(terminalId)} does not exist`, Code.NotFound);
    return terminal;
  }
}

/** Keeps the end of the output within the limit, from the beginning of a character. */
function keep(terminal: Terminal, chunk: Buffer): void {
  const all = Buffer.concat([terminal.output, chunk]);
  let start = Math.max(0, all.length - terminal.maxBytes);
  if (start > 0) {
    terminal.isTruncated = true;
    while (((all[start] ?? 0) & 0xc0) === 0x80) start++;
  }
  terminal.output = Buffer.from(all.subarray(start));
}

function kill({ child, status }: Terminal): void {
  if (child.pid === undefined || status) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // The group has ended.
  }
}
