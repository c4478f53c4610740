import { create } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import {
  type Extension,
  extensionWords,
  foreseeAccess,
  HostPrograms,
  noSandbox,
  type Sandbox,
  type SandboxAccess,
  SandboxGrants,
} from "@devtool/sandbox";
import { ExecuteDetailsSchema, type TraceContext } from "@devtool/schema";
import { Code, DevtoolError, invalid } from "@devtool/server/agent";
import { z } from "zod";
import type { Tool, ToolEvent, ToolInvocation } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import type { BackgroundProcesses } from "./background-processes.ts";
import { runCommand, type ShellClock } from "./run-shell-command-attempt.ts";
import {
  commandDescription,
  directoryNote,
} from "./run-shell-command-display.ts";
import {
  READING_LIMITS,
  readingEnvironment,
} from "./run-shell-command-reading.ts";
import { type ShellCommand, startCommand } from "./start-command.ts";

const SHAPE = {
  command: z.string().describe("The command line, run by bash -c."),
  description: z
    .string()
    .optional()
    .describe("What the command does, in a line."),
  directory: z
    .string()
    .optional()
    .describe("The directory to run it in. Default: the workspace."),
  wait_for_previous: z
    .boolean()
    .optional()
    .describe(
      "Whether it runs after the calls before it in this step. Default: true; false runs it beside them.",
    ),
};

const PARAMETERS = toolArgs(SHAPE);

const WITH_BACKGROUND = toolArgs({
  ...SHAPE,
  background: z
    .boolean()
    .optional()
    .describe(
      "Whether to go on at once while it runs, for servers and watchers. Read its output with read_background_output.",
    ),
});

/** Options of `run_shell_command`. */
export interface ShellOptions {
  /**
   * All environment variables of commands. They must hold no secret, and no
   * command may be able to change the programs on PATH.
   */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Directories in workspaces, in the form of a PATH. Sandboxed commands search
   * them after PATH. Default: none.
   */
  readonly pathInWorkspaces?: string;
  /** Finds bash. Default: searches the system directories, then PATH. */
  readonly programs?: HostPrograms;
  /**
   * The maximum duration of a command in milliseconds. It does not apply to
   * background processes.
   */
  readonly timeoutMs: number;
  /** The maximum number of characters of output that are kept, from the end. */
  readonly maxOutputLength: number;
  /**
   * Finds the sandbox for commands. Default: commands run without a sandbox.
   */
  readonly sandbox?: () => Promise<Sandbox>;
  /**
   * Access of commands in addition to the workspace. Default: no other files
   * and no network.
   */
  readonly access?: Omit<SandboxAccess, "workspace">;
  /**
   * Access that the user granted to all commands of the task. Default: separate
   * grants for each call.
   */
  readonly grants?: SandboxGrants;
  /**
   * The background processes of the task. Default: commands cannot run in the
   * background.
   */
  readonly background?: BackgroundProcesses;
  /** Default: the system clock. */
  readonly clock?: ShellClock;
}

const SYSTEM_CLOCK: ShellClock = {
  now: () => performance.now(),
  timeout: (ms) => AbortSignal.timeout(ms),
};

/**
 * Creates the tool `run_shell_command`, which runs a command line, after the
 * user's approval.
 *
 * The sandbox confines the command and all processes that it starts. Where it
 * denied something, the user is asked for that access, and the command runs
 * again, at most three times.
 */
export function runShellCommandTool(
  workspace: Workspace,
  options: ShellOptions,
): Tool {
  const parameters = options.background ? WITH_BACKGROUND : PARAMETERS;
  return {
    declaration: {
      name: "run_shell_command",
      description:
        "Runs a shell command in the workspace and gives its output and exit code.",
      parameters: parameters.jsonSchema,
    },
    prepare: async (args) => {
      const checked = parameters.read(args);
      const shell = readCommand(workspace, checked);
      const { command, workingDirectory } = shell;
      const background =
        args.background === true ? options.background : undefined;
      const sandbox = await findSandbox(options);
      const { confines } = sandbox;
      const foreseen = await foreseeAccess(
        command,
        options.grants?.apply(accessOf(workspace.root, options)) ??
          accessOf(workspace.root, options),
        sandbox,
      );
      const access = background ? [] : foreseen.map(extensionWords);
      // The parts that the model cannot choose come last, so that its own
      // description cannot hide them.
      const description = [
        commandDescription(command, checked.description ?? ""),
        directoryNote(workspace.root, workingDirectory),
        background ? " (in the background)" : "",
        confines ? "" : " (without a sandbox)",
        access.length > 0 ? ` (with ${access.join(" and ")})` : "",
      ].join("");
      const run =
        (permission: Permission) =>
        (signal: AbortSignal, trace?: TraceContext) => {
          shell.assertUnmoved();
          const runOptions = {
            ...options,
            environment: tracedEnvironment(options.environment, trace),
            workspace: workspace.root,
            permission,
            confines,
            foreseen,
          };
          return background
            ? startInBackground(shell, background, runOptions, signal)
            : runInForeground(shell, runOptions, signal);
        };
      const details = create(ExecuteDetailsSchema, {
        command,
        workingDirectory,
      });
      const invocation: ToolInvocation = defined({
        args,
        description,
        confirmation: { case: "executeDetails" as const, value: details },
        confinement: confines ? undefined : ("none" as const),
        access: access.length > 0 ? access : undefined,
        waitsForPrevious: checked.wait_for_previous ?? true,
        execute: run("write"),
      });
      return {
        ...invocation,
        confinedToReading: () => ({ ...invocation, execute: run("read") }),
        withAccess: () => ({ ...invocation, execute: run("approved") }),
      };
    },
  };
}

/**
 * Returns the environment of a command that goes on in a trace. What other
 * programs of the trace say of it (`tracestate`) is not for commands.
 */
function tracedEnvironment(
  environment: Readonly<Record<string, string>>,
  trace: TraceContext | undefined,
): Readonly<Record<string, string>> {
  return trace
    ? { ...environment, TRACEPARENT: trace.traceparent }
    : environment;
}

/**
 * Reads the command line and its directory. Throws for a command line that bash
 * cannot run as it was shown, and for a directory outside the workspace.
 */
function readCommand(
  workspace: Workspace,
  args: { readonly command: string; readonly directory?: string | undefined },
): ShellCommand {
  const { command } = args;
  if (command.trim() === "") throw invalid("command", command, "is empty");
  if (command.includes("\0")) {
    throw invalid("command", command, "contains a NUL byte");
  }
  const directory = args.directory || ".";
  const workingDirectory = workspace.directoryPath(directory);
  const assertUnmoved = (): void => {
    if (workspace.directoryPath(directory) === workingDirectory) return;
    const problem = `directory ${JSON.stringify(workingDirectory)} was moved since it was shown`;
    throw new DevtoolError(problem, Code.Aborted, { remedy: "try again" });
  };
  const assertSeenBy = (pid: number): void =>
    workspace.assertLeadsHere(`/proc/${pid}/root${workspace.root}`);
  return { command, workingDirectory, assertUnmoved, assertSeenBy };
}

/**
 * The access of a command to the workspace. `read` is for commands that run
 * without approval because they only read, `approved` for those whose user was
 * asked about them and the access that was foreseen.
 */
type Permission = "read" | "write" | "approved";

interface RunOptions extends ShellOptions {
  readonly workspace: string;
  readonly permission: Permission;
  /** Whether a sandbox was available when the user approved the command. */
  readonly confines: boolean;
  /** The access that the command will need, in addition to what it has. */
  readonly foreseen: readonly Extension[];
}

async function* runInForeground(
  shell: ShellCommand,
  options: RunOptions,
  signal: AbortSignal,
): AsyncIterable<ToolEvent> {
  const { clock = SYSTEM_CLOCK, permission } = options;
  const readsOnly = permission === "read";
  // A command that runs without approval does not get the access that the user
  // granted to other commands.
  const grants = readsOnly
    ? undefined
    : (options.grants ?? new SandboxGrants());
  const start = startOptions(options, await approvedSandbox(options));
  const limited = readsOnly
    ? {
        ...READING_LIMITS,
        timeoutMs: Math.min(options.timeoutMs, READING_LIMITS.timeoutMs),
      }
    : {};
  const isApproved = permission === "approved";
  yield* runCommand(
    shell,
    { ...options, ...start, ...limited, grants, clock, isApproved },
    signal,
  );
}

async function* startInBackground(
  shell: ShellCommand,
  background: BackgroundProcesses,
  options: RunOptions,
  signal: AbortSignal,
): AsyncIterable<ToolEvent> {
  const { grants, permission } = options;
  const start = startOptions(options, await approvedSandbox(options));
  const { sandbox } = start;
  signal.throwIfAborted();
  const commandStart = {
    ...start,
    environment: sandbox.confines
      ? start.confinedEnvironment
      : start.environment,
    access:
      (permission !== "read" && grants?.apply(start.access)) || start.access,
    limits: permission === "read" ? READING_LIMITS.limits : undefined,
  };
  const { id, pid } = await background.start(
    shell.command,
    async (until) => (await startCommand(shell, commandStart, until)).process,
    signal,
  );
  yield { case: "process", value: { pid, sandbox: sandbox.name } };
  yield textResult(
    `background process ${id} runs: read_background_output gives its output, stop_background_process ends it`,
  );
}

async function findSandbox({ sandbox }: ShellOptions): Promise<Sandbox> {
  return sandbox ? await sandbox() : noSandbox("");
}

/**
 * Returns the sandbox. Throws `Code.Aborted` if the user approved the command
 * with one and it is no longer available.
 */
async function approvedSandbox(options: RunOptions): Promise<Sandbox> {
  const sandbox = await findSandbox(options);
  if (sandbox.confines || !options.confines) return sandbox;
  throw new DevtoolError(
    "the sandbox that the command was shown with is no longer available",
    Code.Aborted,
    { remedy: "try again" },
  );
}

/** Returns the access of a command before the user grants more. */
function accessOf(workspace: string, options: ShellOptions): SandboxAccess {
  return {
    readable: [],
    writable: [],
    network: "none",
    ...options.access,
    workspace,
  };
}

/**
 * The part of `AttemptOptions` that depends on the sandbox and the permission.
 */
interface StartOptions {
  readonly sandbox: Sandbox;
  readonly shell: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly confinedEnvironment: Readonly<Record<string, string>>;
  readonly access: SandboxAccess;
}

function startOptions(options: RunOptions, sandbox: Sandbox): StartOptions {
  const { environment, workspace, permission, pathInWorkspaces = "" } = options;
  const { PATH = "" } = environment;
  const { programs = new HostPrograms(PATH) } = options;
  const access = accessOf(workspace, options);
  const start = {
    sandbox,
    environment,
    shell: programs.get("bash", [workspace]),
  };
  if (permission === "read") {
    if (!sandbox.confines) {
      throw new DevtoolError(
        "the command cannot be confined to reading",
        Code.FailedPrecondition,
      );
    }
    const reading = {
      ...access,
      writable: [],
      workspaceAccess: "read" as const,
    };
    return {
      ...start,
      confinedEnvironment: { ...environment, ...readingEnvironment(workspace) },
      access: reading,
    };
  }
  const path = [PATH, pathInWorkspaces].filter(Boolean).join(":");
  return {
    ...start,
    confinedEnvironment: { ...environment, PATH: path },
    access,
  };
}
