import { dirname } from "node:path";
import { create } from "@bufbuild/protobuf";
import { abortable } from "@devtool/internal/abortable";
import {
  type Extension,
  extendedAccess,
  extensionWords,
  findDenial,
  type GuardedPlaces,
  noSandbox,
  type ProcessEnd,
  type Sandbox,
  type SandboxAccess,
  type SandboxGrants,
} from "@devtool/sandbox";
import {
  type ConfirmationOption,
  ConfirmationOptionSchema,
  ExecuteDetailsSchema,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  OPTION_PROCEED_WITHOUT_SANDBOX,
} from "@devtool/schema";
import type { Answer, Question, ToolEvent } from "../tool.ts";
import { failureResult, textResult } from "../tool-result.ts";
import { LiveOutput } from "./live-output.ts";
import {
  commandDescription,
  directoryNote,
} from "./run-shell-command-display.ts";
import {
  type CommandStart,
  type ShellCommand,
  startCommand,
} from "./start-command.ts";

/**
 * Measures the duration of commands and the intervals between snapshots of
 * their output.
 */
export interface ShellClock {
  /** Returns a monotonic time in milliseconds. */
  now(): number;
  /** Returns a signal that aborts after a number of milliseconds. */
  timeout(ms: number): AbortSignal;
}

/**
 * Options of `runCommand`: the environment without a sandbox, and the access
 * before the user grants more.
 */
export interface AttemptOptions extends CommandStart {
  /** The environment variables in a sandbox. */
  readonly confinedEnvironment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** The maximum number of characters of output that are kept, from the end. */
  readonly maxOutputLength: number;
  /**
   * The access that the user granted to all commands of the task. Undefined for
   * a command that must not have it.
   */
  readonly grants: SandboxGrants | undefined;
  /** The access that the command will need, in addition to `access`. */
  readonly foreseen: readonly Extension[];
  /** Whether the user has approved the foreseen access with the command. */
  readonly isApproved: boolean;
  readonly clock: ShellClock;
}

/**
 * The option that grants access for the rest of the task. It is not
 * `proceed_always`, which a policy would take for approval of the command
 * itself.
 */
const OPTION_PROCEED_FOR_TASK = "proceed_for_task";

/** The maximum number of times that a command is run again with more access. */
const MAX_EXTENSIONS = 3;

/**
 * Runs a command line.
 *
 * If the command fails because the sandbox denied an access, asks the user, and
 * runs the command again with this access. Never asks twice for the same
 * access.
 */
export async function* runCommand(
  shell: ShellCommand,
  options: AttemptOptions,
  signal: AbortSignal,
): AsyncIterable<ToolEvent> {
  const { grants, foreseen } = options;
  let { sandbox } = options;
  let environment = sandbox.confines
    ? options.confinedEnvironment
    : options.environment;
  let access = grants?.apply(options.access) ?? options.access;
  const asked = new Set(foreseen.map(extensionWords));
  const isGranted =
    foreseen.length > 0 &&
    (options.isApproved ||
      (yield* askForAccess(
        shell,
        { run: "first", extensions: foreseen },
        options,
        signal,
      )));
  if (isGranted) {
    access = foreseen.reduce(widen, access);
    environment = seeingRepository(environment, foreseen);
  }
  let hint = foreseen.length > 0 && !isGranted ? declinedHint(foreseen) : "";
  for (let runs = 0; ; runs++) {
    const outcome = yield* runOnce(
      shell,
      { ...options, sandbox, environment, access },
      signal,
    );
    const extension = neededExtension(outcome, shell, sandbox, access);
    if (
      !extension ||
      runs === MAX_EXTENSIONS ||
      asked.has(extensionWords(extension))
    ) {
      yield commandResult(outcome, extension ? hint : "");
      return;
    }
    asked.add(extensionWords(extension));
    const wanted = { run: "again", extensions: [extension] } as const;
    if (!(yield* askForAccess(shell, wanted, options, signal))) {
      yield commandResult(outcome, declinedHint([extension]));
      return;
    }
    hint = "";
    if (extension.case === "unconfined") {
      sandbox = noSandbox("");
      environment = options.environment;
    } else {
      access = widen(access, extension);
      environment = seeingRepository(environment, [extension]);
    }
  }
}

/** More access for a command: for its first run, or to run it again. */
interface WantedAccess {
  readonly run: "first" | "again";
  readonly extensions: readonly Extension[];
}

/**
 * Asks the user for more access, all of it at once. Returns whether the user
 * grants it.
 */
async function* askForAccess(
  shell: ShellCommand,
  wanted: WantedAccess,
  { access, grants }: AttemptOptions,
  signal: AbortSignal,
): AsyncGenerator<ToolEvent, boolean> {
  const { extensions } = wanted;
  const choices = extensionOptions(extensions, grants);
  const answer = Promise.withResolvers<Answer>();
  yield {
    case: "question",
    value: extensionQuestion(shell, access.workspace, wanted, choices),
    reply: answer.resolve,
    withdrawn: signal,
  };
  const { optionId } = await abortable(answer.promise, signal);
  if (optionId === OPTION_PROCEED_FOR_TASK) {
    for (const extension of extensions) grants?.add(extension);
  }
  return choices.some(({ id }) => id === optionId && id !== OPTION_CANCEL);
}

function widen(access: SandboxAccess, extension: Extension): SandboxAccess {
  return extendedAccess(access, extension) ?? access;
}

/**
 * Returns an environment in which git looks for a repository up to the
 * directories that it may now read.
 */
function seeingRepository(
  environment: Readonly<Record<string, string>>,
  extensions: readonly Extension[],
): Readonly<Record<string, string>> {
  const read = extensions.find((extension) => extension.case === "read");
  return read && environment.GIT_CEILING_DIRECTORIES !== undefined
    ? { ...environment, GIT_CEILING_DIRECTORIES: dirname(read.path) }
    : environment;
}

/** The words of extensions for a user: `read access to "/a" and …`. */
function wordsOf(extensions: readonly Extension[]): string {
  return extensions.map(extensionWords).join(" and ");
}

/** The line that tells a model why a command failed after a user declined. */
function declinedHint(extensions: readonly Extension[]): string {
  return extensions.some((extension) => extension.case === "unconfined")
    ? "\n[the sandbox seems to have stopped it, and the user declined to run it without a sandbox]"
    : `\n[the sandbox seems to have stopped it, and the user declined ${wordsOf(extensions)}]`;
}

/** The outcome of one run of a command. */
interface Outcome extends ProcessEnd {
  readonly output: string;
  /** The timeout in milliseconds, if it ended the command. */
  readonly timedOutMs: number | undefined;
  /**
   * The parts of the workspace that were read-only. Undefined when no sandbox
   * confined the command.
   */
  readonly guarded: GuardedPlaces | undefined;
}

async function* runOnce(
  shell: ShellCommand,
  options: AttemptOptions,
  signal: AbortSignal,
): AsyncGenerator<ToolEvent, Outcome> {
  const { timeoutMs, maxOutputLength, sandbox, clock } = options;
  const output = new LiveOutput(maxOutputLength);
  const timeout = clock.timeout(timeoutMs);
  const { process: started, guarded } = await startCommand(
    shell,
    { ...options, missingSettings: "watch" },
    AbortSignal.any([signal, timeout]),
  );
  await using process = started;
  yield { case: "process", value: { pid: process.pid, sandbox: sandbox.name } };
  for await (const chunk of process.output()) {
    output.push(chunk);
    const snapshot = output.take(clock.now());
    if (snapshot !== undefined) yield { case: "live", value: snapshot };
  }
  const end = await process.ended;
  signal.throwIfAborted();
  return {
    ...end,
    output: output.text,
    timedOutMs: timeout.aborted ? timeoutMs : undefined,
    guarded,
  };
}

/**
 * Returns the access that a failed command was denied. Undefined when it failed
 * for another reason.
 */
function neededExtension(
  outcome: Outcome,
  shell: ShellCommand,
  sandbox: Sandbox,
  access: SandboxAccess,
): Extension | undefined {
  const { output, guarded, taken: [made] = [] } = outcome;
  if (made) return { case: "write", path: made.path };
  const hasFailed = outcome.exitCode > 0 && outcome.timedOutMs === undefined;
  if (!hasFailed || !guarded) return undefined;
  const extension = findDenial({ ...shell, output, access, guarded }, sandbox);
  // A command that runs without approval because it only reads may be granted
  // more to read, but nothing else.
  return access.workspaceAccess === "read" && extension?.case !== "read"
    ? undefined
    : extension;
}

function extensionQuestion(
  { command, workingDirectory }: ShellCommand,
  workspacePath: string,
  { run, extensions }: WantedAccess,
  options: readonly ConfirmationOption[],
): Question {
  const place = directoryNote(workspacePath, workingDirectory);
  const again = run === "again" ? "again and " : "";
  return {
    description: `${commandDescription(command, "")}${place}, ${again}with ${wordsOf(extensions)}`,
    details: {
      case: "executeDetails",
      value: create(ExecuteDetailsSchema, { command, workingDirectory }),
    },
    options,
  };
}

/**
 * Returns the possible answers to a question for more access.
 *
 * Running without a sandbox has an id of its own, so that a client that
 * approves every request cannot choose it.
 */
function extensionOptions(
  extensions: readonly Extension[],
  grants: SandboxGrants | undefined,
): ConfirmationOption[] {
  const option = (id: string, name: string): ConfirmationOption =>
    create(ConfirmationOptionSchema, { id, name });
  const decline = option(OPTION_CANCEL, "Decline");
  if (extensions.some((extension) => extension.case === "unconfined")) {
    return [
      option(OPTION_PROCEED_WITHOUT_SANDBOX, "Run it again without a sandbox"),
      decline,
    ];
  }
  const forTask = option(
    OPTION_PROCEED_FOR_TASK,
    "Allow this for all commands of this task",
  );
  return [
    option(OPTION_PROCEED_ONCE, "Allow once"),
    ...(grants ? [forTask] : []),
    decline,
  ];
}

/**
 * Creates the result of a call. `hint` is a line to add to the output of a
 * failed command.
 */
function commandResult(outcome: Outcome, hint: string): ToolEvent {
  const { exitCode, signalName, error, output, timedOutMs } = outcome;
  const { taken = [], disarmed = [] } = outcome;
  const moved = taken.map(
    ({ path, keptAs }) =>
      `\n[${JSON.stringify(path)} appeared, which the sandbox does not let commands make: it is now ${JSON.stringify(keptAs)}]`,
  );
  const renamed = disarmed.map(
    ({ path, keptAs }) =>
      `\n[${JSON.stringify(path)} is now ${JSON.stringify(keptAs)}: git outside of the sandbox would run what it names]`,
  );
  const notes = `${[...moved, ...renamed].join("")}${hint}`;
  const details = `${output === "" ? "" : `\n${output}`}${notes}`;
  if (timedOutMs !== undefined) {
    return failureResult(
      "timeout",
      `the command took longer than ${timedOutMs} ms and was ended${details}`,
    );
  }
  if (error) {
    return failureResult(
      "execution_failed",
      `the command could not be started: ${error.message}`,
    );
  }
  if (signalName) {
    return failureResult(
      "execution_failed",
      `the command was ended by ${signalName}${details}`,
    );
  }
  if (exitCode === 0) return textResult(`${output}${notes}`);
  return failureResult(
    "execution_failed",
    `the command ended with exit code ${exitCode}${details}`,
    exitCode,
  );
}
