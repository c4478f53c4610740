import { create } from "@bufbuild/protobuf";
import {
  type ConfirmationOption,
  ConfirmationOptionSchema,
  ExecuteDetailsSchema,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
} from "@devtool/schema";
import { abortable } from "../../stream/abortable.ts";
import { type Extension, extendedAccess, extensionWords, findDenial } from "../sandbox/denial.ts";
import { noSandbox } from "../sandbox/no-sandbox.ts";
import type { Sandbox, SandboxAccess } from "../sandbox/sandbox.ts";
import type { SandboxGrants } from "../sandbox/sandbox-grants.ts";
import type { Answer, Question, ToolEvent } from "../tool.ts";
import { failureResult, textResult } from "../tool-result.ts";
import { LiveOutput } from "./live-output.ts";
import { commandDescription } from "./run-shell-command-display.ts";
import { type ProcessEnd, startProcess } from "./shell-process.ts";

/** A command line that was checked. */
export interface ShellCommand {
  readonly command: string;
  /** A real absolute path in the workspace. */
  readonly workingDirectory: string;
}

/** With what a command runs. */
export interface AttemptOptions {
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly sandbox: Sandbox;
  /** What it may reach before anything is granted. */
  readonly access: SandboxAccess;
  readonly grants: SandboxGrants;
}

/** The answer that holds for the task. Not `proceed_always`: a policy would read that as leave to run the command. */
const OPTION_PROCEED_FOR_TASK = "proceed_for_task";
/** A command is run again so many times at most. */
const MAX_EXTENSIONS = 3;

/**
 * Runs a command line until it is done. When its sandbox seems to have kept something from it that it needs, it asks
 * the user, and runs it again with that; never twice for the same.
 */
export async function* runCommand(
  shell: ShellCommand,
  options: AttemptOptions,
  signal: AbortSignal,
): AsyncIterable<ToolEvent> {
  let { sandbox } = options;
  let access = options.grants.apply(options.access);
  for (const asked = new Set<string>(); ; ) {
    const ended = yield* attempt(shell, { ...options, sandbox, access }, signal);
    const extension = extensionFor(ended, { shell, sandbox, access });
    if (!extension || asked.size === MAX_EXTENSIONS || asked.has(extensionWords(extension)))
      return yield resultOf(ended, "");
    asked.add(extensionWords(extension));
    const { optionId } = yield* ask(questionAbout(shell, extension), signal);
    if (optionId !== OPTION_PROCEED_ONCE && optionId !== OPTION_PROCEED_FOR_TASK) {
      return yield resultOf(ended, `\n[the sandbox stopped it; the user declined ${extensionWords(extension)}]`);
    }
    if (optionId === OPTION_PROCEED_FOR_TASK) options.grants.add(extension);
    const wider = extendedAccess(access, extension);
    if (wider) access = wider;
    else sandbox = noSandbox("");
  }
}

/** How one run of a command ended. */
interface Ended extends ProcessEnd {
  readonly output: string;
  /** The limit, when it ended by that. */
  readonly timedOutMs: number | undefined;
}

async function* attempt(
  { command, workingDirectory }: ShellCommand,
  { environment, timeoutMs, maxOutputBytes, sandbox, access }: AttemptOptions,
  signal: AbortSignal,
): AsyncGenerator<ToolEvent, Ended> {
  const output = new LiveOutput(maxOutputBytes);
  const timeout = AbortSignal.timeout(timeoutMs);
  const confined = sandbox.command({ argv: ["bash", "-c", command], workingDirectory, environment, access });
  await using process = startProcess(confined, AbortSignal.any([signal, timeout]));
  yield { case: "process", value: { pid: process.pid, sandbox: sandbox.name } };
  for await (const chunk of process.output()) {
    output.push(chunk);
    const live = output.take(performance.now());
    if (live !== undefined) yield { case: "live", value: live };
  }
  const end = await process.ended;
  signal.throwIfAborted();
  return { ...end, output: output.text, timedOutMs: timeout.aborted ? timeoutMs : undefined };
}

interface Tried {
  readonly shell: ShellCommand;
  readonly sandbox: Sandbox;
  readonly access: SandboxAccess;
}

function extensionFor(ended: Ended, { shell, sandbox, access }: Tried): Extension | undefined {
  const failed = ended.exitCode > 0 && ended.timedOutMs === undefined;
  if (!failed || !sandbox.confines) return undefined;
  return findDenial({ output: ended.output, workingDirectory: shell.workingDirectory, access }, sandbox);
}

function questionAbout({ command, workingDirectory }: ShellCommand, extension: Extension): Question {
  const lasting = option(OPTION_PROCEED_FOR_TASK, "Allow this for all commands of this task");
  return {
    description: `${commandDescription(command, "")}, again and with ${extensionWords(extension)}`,
    details: { case: "executeDetails", value: create(ExecuteDetailsSchema, { command, workingDirectory }) },
    options: [
      option(OPTION_PROCEED_ONCE, "Allow once"),
      ...(extension.case === "unconfined" ? [] : [lasting]),
      option(OPTION_CANCEL, "Decline"),
    ],
  };
}

function option(id: string, name: string): ConfirmationOption {
  return create(ConfirmationOptionSchema, { id, name });
}

async function* ask(value: Question, signal: AbortSignal): AsyncGenerator<ToolEvent, Answer> {
  const answer = Promise.withResolvers<Answer>();
  yield { case: "question", value, reply: answer.resolve };
  return await abortable(answer.promise, signal);
}

function resultOf({ exitCode, signalName, error, output, timedOutMs }: Ended, hint: string): ToolEvent {
  const said = `${output === "" ? "" : `\n${output}`}${hint}`;
  if (timedOutMs !== undefined)
    return failureResult("timeout", `the command took longer than ${timedOutMs} ms and was ended${said}`);
  if (error) return failureResult("execution_failed", `the command could not be started: ${error.message}`);
  if (signalName) return failureResult("execution_failed", `the command was ended by ${signalName}${said}`);
  if (exitCode === 0) return textResult(output);
  return failureResult("execution_failed", `the command ended with exit code ${exitCode}${said}`, exitCode);
}
