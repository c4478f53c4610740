import { create } from "@bufbuild/protobuf";
import { HostPrograms, noSandbox, type Sandbox, type SandboxAccess, SandboxGrants } from "@devtool/sandbox";
import { ExecuteDetailsSchema } from "@devtool/schema";
import { Code, DevtoolError, invalid } from "@devtool/server/agent";
import { z } from "zod";
import type { Tool, ToolEvent, ToolInvocation } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import type { BackgroundProcesses } from "./background-processes.ts";
import { runCommand, type ShellClock, type ShellCommand } from "./run-shell-command-attempt.ts";
import { commandDescription, directoryWords } from "./run-shell-command-display.ts";
import { readingEnvironment } from "./run-shell-command-reading.ts";

const SHAPE = {
  command: z.string().describe("The command line, run by bash -c."),
  description: z.string().optional().describe("What the command does, in a line."),
  directory: z.string().optional().describe("The directory to run it in. Default: the workspace."),
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

/** How commands run. */
export interface ShellOptions {
  /** The environment of every command, and all of it: never secrets, and a PATH that no command can change. */
  readonly environment: Readonly<Record<string, string>>;
  /** Directories to search last, as a PATH, for commands in a sandbox that may change the workspace. Default: none. */
  readonly pathInWorkspaces?: string;
  /** Where bash is looked for. Default: the system, then the environment's PATH. */
  readonly programs?: HostPrograms;
  /** A command is ended after so many milliseconds; one in the background is not. */
  readonly timeoutMs: number;
  /** So many characters of output are kept: the newest. */
  readonly maxOutputBytes: number;
  /** Finds what confines commands, when the first one runs. Default: nothing does. */
  readonly sandbox?: () => Promise<Sandbox>;
  /** What the operator lets commands reach beside the workspace. Default: nothing, and no network. */
  readonly access?: Omit<SandboxAccess, "workspace">;
  /** What the user granted the commands of the task so far. Default: nothing is kept from call to call. */
  readonly grants?: SandboxGrants;
  /** The processes that commands of the task left running. Default: none may. */
  readonly background?: BackgroundProcesses;
  /** Default: the machine's. */
  readonly clock?: ShellClock;
}

const MACHINE_CLOCK: ShellClock = {
  now: () => performance.now(),
  timeout: (ms) => AbortSignal.timeout(ms),
};

/** `run_shell_command`: runs a command line, confined, with all processes that it starts; asks first. */
export function runShellCommandTool(workspace: Workspace, options: ShellOptions): Tool {
  const parameters = options.background ? WITH_BACKGROUND : PARAMETERS;
  return {
    declaration: {
      name: "run_shell_command",
      description: "Runs a shell command in the workspace and gives its output and exit code.",
      parameters: parameters.jsonSchema,
    },
    prepare: async (args) => {
      const checked = parameters.read(args);
      const command = commandOf(checked);
      const directory = checked.directory || ".";
      const workingDirectory = workspace.directoryPath(directory);
      const background = args.background === true ? options.background : undefined;
      const { confines } = await sandboxOf(options);
      // What the model cannot choose the words of comes last, where no words of its own can hide it.
      const description = [
        commandDescription(command, checked.description ?? ""),
        directoryWords(workspace.root, workingDirectory),
        background ? " (in the background)" : "",
        confines ? "" : " (without a sandbox)",
      ].join("");
      const assertUnmoved = (): void => assertSame(workspace.directoryPath(directory), workingDirectory);
      const shell = { command, workingDirectory, assertUnmoved };
      const run = (permission: Permission) => (signal: AbortSignal) => {
        assertUnmoved();
        const all = { ...options, workspace: workspace.root, permission, confines };
        return background ? startInBackground(shell, { ...all, background }, signal) : runInTurn(shell, all, signal);
      };
      const invocation: ToolInvocation = {
        args,
        description,
        confirmation: { case: "executeDetails", value: create(ExecuteDetailsSchema, { command, workingDirectory }) },
        ...(!confines && { confinement: "none" }),
        execute: run("write"),
      };
      return { ...invocation, confinedToReading: () => ({ ...invocation, execute: run("read") }) };
    },
  };
}

/** What a command may do to the workspace: `read` is for those that nobody was asked about. */
type Permission = "read" | "write";

interface RunOptions extends ShellOptions {
  readonly workspace: string;
  readonly permission: Permission;
  /** Whether the command was shown as one that a sandbox confines. */
  readonly confines: boolean;
}

async function* runInTurn(shell: ShellCommand, options: RunOptions, signal: AbortSignal): AsyncIterable<ToolEvent> {
  const { clock = MACHINE_CLOCK, permission } = options;
  const readsOnly = permission === "read";
  // What nobody was asked about gets nothing that was granted for something else.
  const grants = readsOnly ? undefined : (options.grants ?? new SandboxGrants());
  const start = startOf(options, await shownSandbox(options));
  const limited = readsOnly ? { ...READING, timeoutMs: Math.min(options.timeoutMs, READING.timeoutMs) } : {};
  yield* runCommand(shell, { ...options, ...start, ...limited, grants, clock }, signal);
}

/** The bounds of a command that nobody was asked about: enough to search a large repository. */
const READING = {
  timeoutMs: 60_000,
  limits: { memoryKib: 1024 * 1024, cpuSeconds: 60, scratchBytes: 64 * 1024 * 1024 },
} as const;

async function* startInBackground(
  { command, workingDirectory }: ShellCommand,
  options: RunOptions & { readonly background: BackgroundProcesses },
  signal: AbortSignal,
): AsyncIterable<ToolEvent> {
  const { background, grants, permission } = options;
  const { sandbox, shell, environment, confinedEnvironment, access } = startOf(options, await shownSandbox(options));
  signal.throwIfAborted();
  const confined = await sandbox.command({
    argv: [shell, "-c", command, "bash"],
    workingDirectory,
    environment: sandbox.confines ? confinedEnvironment : environment,
    shell,
    access: (permission === "write" && grants?.apply(access)) || access,
    ...(permission === "read" && { limits: READING.limits }),
  });
  const { id, pid } = background.start(command, confined, signal);
  yield { case: "process", value: { pid, sandbox: sandbox.name } };
  yield textResult(
    `background process ${id} runs: read_background_output gives its output, stop_background_process ends it`,
  );
}

function sandboxOf({ sandbox }: ShellOptions): Promise<Sandbox> {
  return sandbox ? sandbox() : Promise.resolve(noSandbox(""));
}

/** The sandbox. Throws `Code.Aborted` when the command was shown with one and there is none any more. */
async function shownSandbox(options: RunOptions): Promise<Sandbox> {
  const sandbox = await sandboxOf(options);
  if (sandbox.confines || !options.confines) return sandbox;
  throw new DevtoolError("the sandbox that the command was shown with cannot be had any more", Code.Aborted, {
    remedy: "try again",
  });
}

/** With what a command starts. */
interface Start {
  readonly sandbox: Sandbox;
  readonly shell: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly confinedEnvironment: Readonly<Record<string, string>>;
  readonly access: SandboxAccess;
}

function startOf(options: RunOptions, sandbox: Sandbox): Start {
  const { environment, workspace, permission, pathInWorkspaces = "" } = options;
  const { PATH = "" } = environment;
  const { programs = new HostPrograms(PATH) } = options;
  const access: SandboxAccess = { readable: [], writable: [], network: "none", ...options.access, workspace };
  const start = { sandbox, environment, shell: programs.get("bash", [workspace]) };
  if (permission === "read") {
    if (!sandbox.confines) throw new DevtoolError("the command cannot be confined to reading", Code.FailedPrecondition);
    const reading = { ...access, writable: [], workspaceAccess: "read" as const };
    return { ...start, confinedEnvironment: { ...environment, ...readingEnvironment(workspace) }, access: reading };
  }
  const path = [PATH, pathInWorkspaces].filter(Boolean).join(":");
  return { ...start, confinedEnvironment: { ...environment, PATH: path }, access };
}

function commandOf({ command }: { readonly command: string }): string {
  if (command.trim() === "") throw invalid("command", command, "is empty");
  if (command.includes("\0")) throw invalid("command", command, "holds a NUL byte");
  return command;
}

/** What was shown is what runs: the directory too. */
function assertSame(now: string, shown: string): void {
  if (now === shown) return;
  throw new DevtoolError(`directory ${JSON.stringify(shown)} was moved since it was shown`, Code.Aborted, {
    remedy: "try again",
  });
}
