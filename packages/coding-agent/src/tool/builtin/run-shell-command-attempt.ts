import { create } from "@bufbuild/protobuf";
import {
  type Extension,
  extendedAccess,
  extensionWords,
  findDenial,
  type GuardedPlaces,
  noSandbox,
  type ProcessEnd,
  type ProcessLimits,
  type Sandbox,
  type SandboxAccess,
  type SandboxGrants,
  startProcess,
} from "@devtool/sandbox";
import {
  type ConfirmationOption,
  ConfirmationOptionSchema,
  ExecuteDetailsSchema,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  OPTION_PROCEED_WITHOUT_SANDBOX,
} from "@devtool/schema";
import { abortable } from "@devtool/server/agent";
import type { Answer, Question, ToolEvent } from "../tool.ts";
import { failureResult, textResult } from "../tool-result.ts";
import { LiveOutput } from "./live-output.ts";
import { commandDescription, directoryWords } from "./run-shell-command-display.ts";

/** A command line that was checked. */
export interface ShellCommand {
  readonly command: string;
  /** A real absolute path in the workspace. */
  readonly workingDirectory: string;
  /** Throws when the directory is no longer the one that was shown: the command may have moved it before it runs again. */
  readonly assertUnmoved: () => void;
}

/** Measures how long a command runs and when its output is shown. */
export interface ShellClock {
  /** The time in milliseconds, from any start. */
  now(): number;
  /** A signal that aborts after a number of milliseconds. */
  timeout(ms: number): AbortSignal;
}

/** With what a command runs. */
export interface AttemptOptions {
  readonly environment: Readonly<Record<string, string>>;
  /** The environment in a sandbox. */
  readonly confinedEnvironment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly sandbox: Sandbox;
  /** The absolute path of bash. */
  readonly shell: string;
  readonly limits?: ProcessLimits;
  /** What it may reach before anything is granted. */
  readonly access: SandboxAccess;
  /** What the user granted the task; undefined for a command that must not have it. */
  readonly grants: SandboxGrants | undefined;
  readonly clock: ShellClock;
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
  let environment = sandbox.confines ? options.confinedEnvironment : options.environment;
  let access = options.grants?.apply(options.access) ?? options.access;
  for (const asked = new Set<string>(); ; ) {
    const ended = yield* attempt(shell, { ...options, sandbox, environment, access }, signal);
    const extension = extensionFor(ended, { shell, sandbox, access });
    if (!extension || asked.size === MAX_EXTENSIONS || asked.has(extensionWords(extension)))
      return yield resultOf(ended, "");
    asked.add(extensionWords(extension));
    const choices = optionsFor(extension, options.grants);
    const place = directoryWords(access.workspace, shell.workingDirectory);
    const { optionId } = yield* ask(questionAbout({ ...shell, place }, extension, choices), signal);
    if (!choices.some(({ id }) => id === optionId && id !== OPTION_CANCEL)) {
      return yield resultOf(ended, `\n[the sandbox stopped it; the user declined ${extensionWords(extension)}]`);
    }
    if (optionId === OPTION_PROCEED_FOR_TASK) options.grants?.add(extension);
    const wider = extendedAccess(access, extension);
    if (wider) access = wider;
    else ({ sandbox, environment } = { sandbox: noSandbox(""), environment: options.environment });
  }
}

/** How one run of a command ended. */
interface Ended extends ProcessEnd {
  readonly output: string;
  /** The limit, when it ended by that. */
  readonly timedOutMs: number | undefined;
  /** What of the workspace it could only read; undefined when nothing confined it. */
  readonly guarded: GuardedPlaces | undefined;
}

async function* attempt(
  { command, workingDirectory, assertUnmoved }: ShellCommand,
  { environment, timeoutMs, maxOutputBytes, sandbox, shell, access, limits, clock }: AttemptOptions,
  signal: AbortSignal,
): AsyncGenerator<ToolEvent, Ended> {
  assertUnmoved();
  const output = new LiveOutput(maxOutputBytes);
  const timeout = clock.timeout(timeoutMs);
  const argv = [shell, "-c", command, "bash"];
  const request = { argv, workingDirectory, environment, shell, access, ...(limits && { limits }) };
  const confined = await sandbox.command(request);
  await using process = startProcess(confined, AbortSignal.any([signal, timeout]));
  yield { case: "process", value: { pid: process.pid, sandbox: sandbox.name } };
  for await (const chunk of process.output()) {
    output.push(chunk);
    const live = output.take(clock.now());
    if (live !== undefined) yield { case: "live", value: live };
  }
  const end = await process.ended;
  signal.throwIfAborted();
  return {
    ...end,
    output: output.text,
    timedOutMs: timeout.aborted ? timeoutMs : undefined,
    guarded: confined.guarded,
  };
}

interface Tried {
  readonly shell: ShellCommand;
  readonly sandbox: Sandbox;
  readonly access: SandboxAccess;
}

function extensionFor(ended: Ended, { shell, sandbox, access }: Tried): Extension | undefined {
  const { output, guarded } = ended;
  const failed = ended.exitCode > 0 && ended.timedOutMs === undefined;
  if (!failed || !guarded) return undefined;
  const extension = findDenial({ ...shell, output, access, guarded }, sandbox);
  // What nobody was asked about may ask to read more, and stays one that only reads.
  return access.workspaceAccess === "read" && extension?.case !== "read" ? undefined : extension;
}

function questionAbout(
  { command, workingDirectory, place }: ShellCommand & { readonly place: string },
  extension: Extension,
  options: readonly ConfirmationOption[],
): Question {
  return {
    description: `${commandDescription(command, "")}${place}, again and with ${extensionWords(extension)}`,
    details: { case: "executeDetails", value: create(ExecuteDetailsSchema, { command, workingDirectory }) },
    options,
  };
}

/** Ending the sandbox has an id of its own: a client that says yes to everything, or sees no difference, cannot choose it. */
function optionsFor(extension: Extension, grants: SandboxGrants | undefined): ConfirmationOption[] {
  const decline = option(OPTION_CANCEL, "Decline");
  if (extension.case === "unconfined")
    return [option(OPTION_PROCEED_WITHOUT_SANDBOX, "Run it again without a sandbox"), decline];
  const lasting = option(OPTION_PROCEED_FOR_TASK, "Allow this for all commands of this task");
  return [option(OPTION_PROCEED_ONCE, "Allow once"), ...(grants ? [lasting] : []), decline];
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
