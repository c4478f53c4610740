import { create } from "@bufbuild/protobuf";
import { ExecuteDetailsSchema } from "@devtool/schema";
import { invalid } from "../../errors.ts";
import type { Tool, ToolEvent } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";
import { failureResult, textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import { LiveOutput } from "./live-output.ts";
import { type ProcessEnd, startProcess } from "./shell-process.ts";

const PARAMETERS: Parameters = {
  required: { command: { type: "string", description: "The command line, run by bash -c." } },
  optional: {
    description: { type: "string", description: "What the command does, in a line." },
    directory: { type: "string", description: "The directory to run it in. Default: the workspace." },
  },
};

/** How commands run. */
export interface ShellOptions {
  /** The environment of every command, and all of it: never secrets. */
  readonly environment: Readonly<Record<string, string>>;
  /** A command is ended after so many milliseconds. */
  readonly timeoutMs: number;
  /** So many characters of output are kept: the newest. */
  readonly maxOutputBytes: number;
}

/** `run_shell_command`: runs a command line in a process group of its own; asks first. */
export function runShellCommandTool(workspace: Workspace, options: ShellOptions): Tool {
  return {
    declaration: {
      name: "run_shell_command",
      description: "Runs a shell command in the workspace and gives its output and exit code.",
      parameters: jsonSchemaOf(PARAMETERS),
    },
    prepare: async (args) => {
      const checked = new ToolArgs(args, PARAMETERS);
      const command = checked.text("command");
      if (command.trim() === "") throw invalid("command", command, "is empty");
      if (command.includes("\0")) throw invalid("command", command, "holds a NUL byte");
      const workingDirectory = workspace.directoryPath(checked.text("directory") || ".");
      return {
        args,
        description: checked.text("description") || `Run ${command}`,
        confirmation: { case: "executeDetails", value: create(ExecuteDetailsSchema, { command, workingDirectory }) },
        execute: (signal) => run({ command, workingDirectory }, options, signal),
      };
    },
  };
}

interface ShellCommand {
  readonly command: string;
  readonly workingDirectory: string;
}

async function* run(
  { command, workingDirectory }: ShellCommand,
  { environment, timeoutMs, maxOutputBytes }: ShellOptions,
  signal: AbortSignal,
): AsyncIterable<ToolEvent> {
  const output = new LiveOutput(maxOutputBytes);
  const timeout = AbortSignal.timeout(timeoutMs);
  await using process = startProcess({ command, workingDirectory, environment }, AbortSignal.any([signal, timeout]));
  for await (const chunk of process.output()) {
    output.push(chunk);
    const live = output.take(performance.now());
    if (live !== undefined) yield { case: "live", value: live };
  }
  const end = await process.ended;
  signal.throwIfAborted();
  yield resultOf(end, output.text, timeout.aborted ? timeoutMs : undefined);
}

function resultOf(
  { exitCode, signalName, error }: ProcessEnd,
  output: string,
  timedOutMs: number | undefined,
): ToolEvent {
  const said = output === "" ? "" : `\n${output}`;
  if (timedOutMs !== undefined)
    return failureResult("timeout", `the command took longer than ${timedOutMs} ms and was ended${said}`);
  if (error) return failureResult("execution_failed", `the command could not be started: ${error.message}`);
  if (signalName) return failureResult("execution_failed", `the command was ended by ${signalName}${said}`);
  if (exitCode === 0) return textResult(output);
  return failureResult("execution_failed", `the command ended with exit code ${exitCode}${said}`, exitCode);
}
