import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type {
  ClientApp,
  CreateTerminalRequest,
  TerminalExitStatus,
  TerminalOutputResponse,
} from "@agentclientprotocol/sdk";
import { abortable } from "@devtool/internal/abortable";
import { failpoint } from "@devtool/internal/failpoint";
import { GROUP_OPTIONS, signalGroup } from "@devtool/internal/process-group";
import { shellLine } from "@devtool/internal/shell-line";
import {
  Code,
  DevtoolError,
  inheritedEnvironment,
  quoted,
} from "@devtool/server/agent";
import type { ClientGate } from "./client-action.ts";
import { answerOf } from "./client-answer.ts";
import { systemCodeOf, workspaceDirectoryOf } from "./workspace-path.ts";

/** The maximum size of the output that a terminal keeps, in bytes. */
const MAX_OUTPUT_BYTES: number = 1024 * 1024;
/** The maximum number of terminals that an agent may have at a time. */
const MAX_TERMINALS = 32;
/**
 * The number of released terminals whose output is kept: calls show it still.
 */
const MAX_RELEASED = 8;
/**
 * The time after the end of a command in which the rest of its output is read,
 * in milliseconds.
 */
const LINGER_MS = 200;

/** One command of an agent. */
interface Terminal {
  readonly child: ChildProcess;
  readonly ended: Promise<TerminalExitStatus>;
  readonly maxBytes: number;
  output: Buffer;
  isTruncated: boolean;
  status: TerminalExitStatus | undefined;
}

/** The options of `Terminals`. */
export interface TerminalsOptions {
  readonly workspacePath: string;
  readonly gate: ClientGate;
  /** Called when a terminal has new output. */
  readonly onOutput: (terminalId: string) => void;
}

/**
 * The methods `terminal/*` for an agent: commands that start in the workspace
 * of its session, without a shell.
 */
export class Terminals implements AsyncDisposable {
  readonly #options: TerminalsOptions;
  readonly #terminals = new Map<string, Terminal>();
  /** The output of terminals that were released, which calls may still show. */
  readonly #released = new Map<string, string>();
  /** Aborts when nothing may start any more that was asked for in a turn. */
  #turn = new AbortController();

  constructor(options: TerminalsOptions) {
    this.#options = options;
  }

  register(app: ClientApp): void {
    app.onRequest("terminal/create", ({ params, signal }) =>
      answerOf(async () => ({
        terminalId: await this.#create(params, signal),
      })),
    );
    app.onRequest("terminal/output", ({ params }) =>
      answerOf((): TerminalOutputResponse => {
        const { output, isTruncated, status } = this.#find(params.terminalId);
        return {
          output: output.toString("utf8"),
          truncated: isTruncated,
          ...(status ? { exitStatus: status } : {}),
        };
      }),
    );
    app.onRequest("terminal/wait_for_exit", ({ params }) =>
      answerOf(() => this.#find(params.terminalId).ended),
    );
    app.onRequest("terminal/kill", ({ params }) =>
      answerOf(() => {
        kill(this.#find(params.terminalId));
        return {};
      }),
    );
    app.onRequest("terminal/release", ({ params }) =>
      answerOf(async () => {
        await this.#release(params.terminalId);
        return {};
      }),
    );
  }

  /**
   * Returns the output of a terminal as text; undefined for an unknown
   * terminal.
   */
  outputOf(terminalId: string): string | undefined {
    return (
      this.#terminals.get(terminalId)?.output.toString("utf8") ??
      this.#released.get(terminalId)
    );
  }

  /** Lets commands start in a turn that begins. */
  beginTurn(): void {
    this.#turn = new AbortController();
  }

  /**
   * Kills what runs, and lets nothing start before the next turn. The agent
   * learns from the terminals that they have ended.
   */
  cancelTurn(): void {
    this.#turn.abort(gone("the turn was canceled"));
    for (const terminal of this.#terminals.values()) kill(terminal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#turn.abort(gone("the session has ended"));
    await Promise.all(
      [...this.#terminals.keys()].map((id) => this.#release(id)),
    );
  }

  async #create(
    request: CreateTerminalRequest,
    signal: AbortSignal,
  ): Promise<string> {
    const { workspacePath, gate } = this.#options;
    const { command, args = [], env = [] } = request;
    const turn = this.#turn.signal;
    turn.throwIfAborted();
    const unusable = [command, ...args, ...env.map(({ value }) => value)].find(
      (word) => word.includes("\0") || !word.isWellFormed(),
    );
    if (command === "" || unusable !== undefined) {
      throw new DevtoolError(
        `command ${quoted(unusable ?? command)} cannot be run`,
        Code.InvalidArgument,
      );
    }
    // Any other name would be shown, and read by a policy, as other words of
    // the command line.
    const wrong = env.find(({ name }) => !/^[A-Za-z_]\w*$/.test(name));
    if (wrong) {
      throw new DevtoolError(
        `variable ${quoted(wrong.name)} has no valid name`,
        Code.InvalidArgument,
      );
    }
    const directory = await workspaceDirectoryOf(
      workspacePath,
      request.cwd ?? workspacePath,
    );
    const action = {
      case: "run" as const,
      ...commandLineOf(request),
      directory,
    };
    return await gate.run(
      action,
      async () => {
        // The directory may have been replaced while the user decided.
        await workspaceDirectoryOf(workspacePath, directory);
        return await this.#start(request, directory, turn);
      },
      signal,
    );
  }

  async #start(
    { command, args = [], env = [], outputByteLimit }: CreateTerminalRequest,
    cwd: string,
    turn: AbortSignal,
  ): Promise<string> {
    if (this.#terminals.size >= MAX_TERMINALS) {
      throw new DevtoolError(
        `the agent has ${MAX_TERMINALS} terminals: release one`,
        Code.ResourceExhausted,
      );
    }
    turn.throwIfAborted();
    const own = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    const terminalId = randomUUID();
    failpoint("devtool:acp.terminal.before");
    const child = spawn(command, [...args], {
      cwd,
      env: { ...inheritedEnvironment(process.env), ...own },
      ...GROUP_OPTIONS,
      stdio: ["ignore", "pipe", "pipe"],
    });
    failpoint("devtool:acp.terminal.after");
    const terminal: Terminal = {
      child,
      ended: endOf(child),
      maxBytes: Math.min(outputByteLimit ?? MAX_OUTPUT_BYTES, MAX_OUTPUT_BYTES),
      output: Buffer.alloc(0),
      isTruncated: false,
      status: undefined,
    };
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        keep(terminal, chunk);
        this.#options.onOutput(terminalId);
      });
    }
    this.#terminals.set(terminalId, terminal);
    void terminal.ended.then((status) => (terminal.status = status));
    try {
      await once(child, "spawn");
    } catch (cause) {
      this.#terminals.delete(terminalId);
      const problem = `command ${quoted(command)} cannot be started: ${systemCodeOf(cause)}`;
      throw new DevtoolError(problem, Code.InvalidArgument, { cause });
    }
    return terminalId;
  }

  async #release(terminalId: string): Promise<void> {
    const terminal = this.#find(terminalId);
    this.#terminals.delete(terminalId);
    kill(terminal);
    await terminal.ended;
    this.#released.set(terminalId, terminal.output.toString("utf8"));
    const [oldest] = this.#released.keys();
    if (this.#released.size > MAX_RELEASED && oldest !== undefined) {
      this.#released.delete(oldest);
    }
  }

  #find(terminalId: string): Terminal {
    const terminal = this.#terminals.get(terminalId);
    if (!terminal) {
      throw new DevtoolError(
        `terminal ${quoted(terminalId)} does not exist`,
        Code.NotFound,
      );
    }
    return terminal;
  }
}

function gone(problem: string): DevtoolError {
  return new DevtoolError(problem, Code.FailedPrecondition);
}

/**
 * Keeps the end of the output within the limit, from the beginning of a
 * character.
 */
function keep(terminal: Terminal, chunk: Buffer): void {
  const all = Buffer.concat([terminal.output, chunk]);
  let start = Math.max(0, all.length - terminal.maxBytes);
  if (start > 0) {
    terminal.isTruncated = true;
    while (((all[start] ?? 0) & 0xc0) === 0x80) start++;
  }
  terminal.output = Buffer.from(all.subarray(start));
}

/** Kills the group of a command, with what the command has left running. */
function kill({ child }: Terminal): void {
  signalGroup(child, "SIGKILL");
}

/**
 * Resolves when a command has ended. What it has left running may hold its
 * output open.
 */
async function endOf(child: ChildProcess): Promise<TerminalExitStatus> {
  const closed = new Promise<void>((resolve) => child.once("close", resolve));
  const status = await new Promise<TerminalExitStatus>((resolve) => {
    child.once("exit", (exitCode, signal) => resolve({ exitCode, signal }));
    child.once("error", () => resolve({ exitCode: 127, signal: null }));
  });
  await abortable(closed, AbortSignal.timeout(LINGER_MS)).catch(
    () => undefined,
  );
  return status;
}

/** The shells that run a script which is given as an argument. */
const SHELL = /^((\/usr)?\/bin\/)?(sh|bash|zsh|dash)$/;

/**
 * Returns a command as a shell would be given it, and the script of a shell
 * that runs one in the agent's usual environment.
 */
function commandLineOf({
  command,
  args = [],
  env = [],
}: CreateTerminalRequest): { command: string; script: string } {
  const variables = env.map(
    ({ name, value }) => `${name}=${shellLine([value])}`,
  );
  const line = [...variables, shellLine([command, ...args])].join(" ");
  const [option = "", script, ...others] = args;
  const isScript =
    SHELL.test(command) &&
    /^-l?c$/.test(option) &&
    others.length === 0 &&
    env.length === 0;
  return {
    command: line,
    script: isScript && script !== undefined ? script : line,
  };
}
