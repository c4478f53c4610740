import { create } from "@bufbuild/protobuf";
import { ExecuteDetailsSchema } from "@devtool/schema";
import { Code, DevtoolError, invalid } from "../../errors.ts";
import { noSandbox } from "../sandbox/no-sandbox.ts";
import type { Sandbox, SandboxAccess } from "../sandbox/sandbox.ts";
import { SandboxGrants } from "../sandbox/sandbox-grants.ts";
import type { Tool, ToolEvent } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import type { BackgroundProcesses } from "./background-processes.ts";
import { runCommand, type ShellCommand } from "./run-shell-command-attempt.ts";
import { commandDescription } from "./run-shell-command-display.ts";

const PARAMETERS: Parameters = {
  required: { command: { type: "string", description: "The command line, run by bash -c." } },
  optional: {
    description: { type: "string", description: "What the command does, in a line." },
    directory: { type: "string", description: "The directory to run it in. Default: the workspace." },
  },
};

const WITH_BACKGROUND: Parameters = {
  required: PARAMETERS.required,
  optional: {
    ...PARAMETERS.optional,
    background: {
      type: "boolean",
      description:
        "Whether to go on at once while it runs, for servers and watchers. Read its output with read_background_output.",
    },
  },
};

/** How commands run. */
export interface ShellOptions {
  /** The environment of every command, and all of it: never secrets. */
  readonly environment: Readonly<Record<string, string>>;
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
}

/** `run_shell_command`: runs a command line, confined, with all processes that it starts; asks first. */
export function runShellCommandTool(workspace: Workspace, options: ShellOptions): Tool {
  const parameters = options.background ? WITH_BACKGROUND : PARAMETERS;
  return {
    declaration: {
      name: "run_shell_command",
      description: "Runs a shell command in the workspace and gives its output and exit code.",
      parameters: jsonSchemaOf(parameters),
    },
    prepare: async (args) => {
      const checked = new ToolArgs(args, parameters);
      const command = commandOf(checked);
      const directory = checked.text("directory") || ".";
      const workingDirectory = workspace.directoryPath(directory);
      const background = args.background === true ? options.background : undefined;
      const description = commandDescription(command, checked.text("description"));
      return {
        args,
        description: background ? `${description} (in the background)` : description,
        confirmation: { case: "executeDetails", value: create(ExecuteDetailsSchema, { command, workingDirectory }) },
        execute: (signal) => {
          assertUnmoved(workspace.directoryPath(directory), workingDirectory);
          const shell = { command, workingDirectory };
          const all = { ...options, workspace: workspace.root };
          return background ? startInBackground(shell, { ...all, background }, signal) : runInTurn(shell, all, signal);
        },
      };
    },
  };
}

interface RunOptions extends ShellOptions {
  readonly workspace: string;
}

async function* runInTurn(shell: ShellCommand, options: RunOptions, signal: AbortSignal): AsyncIterable<ToolEvent> {
  const { grants = new SandboxGrants() } = options;
  yield* runCommand(
    shell,
    { ...options, grants, access: accessOf(options), sandbox: await sandboxOf(options) },
    signal,
  );
}

async function* startInBackground(
  { command, workingDirectory }: ShellCommand,
  options: RunOptions & { readonly background: BackgroundProcesses },
  signal: AbortSignal,
): AsyncIterable<ToolEvent> {
  const { environment, background, grants } = options;
  const sandbox = await sandboxOf(options);
  signal.throwIfAborted();
  const access = grants?.apply(accessOf(options)) ?? accessOf(options);
  const confined = sandbox.command({ argv: ["bash", "-c", command], workingDirectory, environment, access });
  const { id, pid } = background.start(command, confined, signal);
  yield { case: "process", value: { pid, sandbox: sandbox.name } };
  yield textResult(
    `background process ${id} runs: read_background_output gives its output, stop_background_process ends it`,
  );
}

function sandboxOf({ sandbox }: ShellOptions): Promise<Sandbox> {
  return sandbox ? sandbox() : Promise.resolve(noSandbox(""));
}

function accessOf({ workspace, access }: RunOptions): SandboxAccess {
  return { readable: [], writable: [], network: "none", ...access, workspace };
}

function commandOf(args: ToolArgs): string {
  const command = args.text("command");
  if (command.trim() === "") throw invalid("command", command, "is empty");
  if (command.includes("\0")) throw invalid("command", command, "holds a NUL byte");
  return command;
}

/** What was shown is what runs: the directory too. */
function assertUnmoved(now: string, shown: string): void {
  if (now === shown) return;
  throw new DevtoolError(`directory ${JSON.stringify(shown)} was moved since it was shown: try again`, Code.Aborted);
}
