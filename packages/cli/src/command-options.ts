/** The options that several commands share. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { UsageError } from "./errors.ts";
import type { Io } from "./io.ts";

/** Receives the exit code of the command that ran. */
export type Done = (exitCode: number) => void;

/** Commands that are described together. */
export interface CommandSet {
  readonly names: readonly string[];
  readonly add: (program: Command, io: Io, done: Done) => void;
}

/** The exit codes, for the help of commands that follow a task. */
export const EXIT_CODES = `
Exit codes:
  0    success
  1    failure
  2    usage error
  3    input required: a question of the agent was declined, or nobody could answer it
  130  canceled
  141  standard output was closed early`;

/** The help of `--json`, of commands that follow a task. */
export const JSON_EVENTS = "print each event as a line of JSON";

/** The help of `--data`. */
export const DATA_DIRECTORY =
  "data directory (default: $DEVTOOL_DATA or ~/.devtool)";

/** The options that name a directory, a file or a task. */
const NAMES = ["workspace", "data", "config", "tokenFile", "log", "task"];

/**
 * Asserts that no directory, file or task of a command line is an empty word,
 * as that of a variable of the shell that is not set. An empty directory would
 * be the current one, and an empty task a new one.
 */
export function assertNamesSomething(
  options: Readonly<Record<string, unknown>>,
): void {
  const empty = NAMES.find((name) => options[name] === "");
  if (empty === undefined) return;
  const flag = empty.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new UsageError(`--${flag} is empty: name something, or leave it out`);
}

/** Adds the option that chooses an agent. */
export function withAgent(command: Command): Command {
  return command.addOption(
    new Option(
      "--agent <name>",
      "agent to use, on a server with several (default: its first)",
    ).conflicts("task"),
  );
}

/** Adds the settings of a session. */
export function withSession(command: Command): Command {
  return withAgent(command)
    .option("--model <name>", "model to use (default: the server's)")
    .addOption(
      approvalModeOption(
        "actions the agent may take without asking, within the operator's limit",
      ),
    );
}

/**
 * Returns the option that names an approval mode. `auto_edit` is accepted for
 * `auto-edit`.
 */
export function approvalModeOption(description: string): Option {
  const modes = ["default", "plan", "auto-edit", "yolo"];
  const option = new Option("--approval-mode <mode>", description).choices(
    modes,
  );
  const parse = option.parseArg;
  // Gemini CLI writes auto_edit.
  return option.argParser((name: string, before: unknown) =>
    parse?.(name.replace("_", "-"), before),
  );
}

/** Adds the options that say how the agent's questions are answered. */
export function withApproval(command: Command): Command {
  return command
    .addOption(
      new Option("--approve <how>", "how to answer the agent's questions")
        .choices(["ask", "never", "all"])
        .default("ask"),
    )
    .option(
      "--approve-without-sandbox",
      "with --approve all: also approve running commands without the sandbox",
    );
}

/** Adds the options by which a server is found and called. */
export function withConnection(command: Command): Command {
  return command
    .option("--url <url>", "server URL (default: the running server)")
    .option(
      "--token <token>",
      "bearer token (default: $DEVTOOL_TOKEN, or the running server's)",
    )
    .option("--data <dir>", DATA_DIRECTORY)
    .addOption(
      new Option(
        "--protocol <name>",
        "protocol to speak (default: connect; with --url a2a, if the server is not devtool's)",
      ).choices(["connect", "grpc", "a2a"]),
    );
}

/**
 * Reads the value of an option that is a whole number above 0. Throws for
 * another.
 */
export function positiveNumber(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new InvalidArgumentError("write a whole number above 0.");
}

/** Returns the option that names images, which may be given several times. */
export function imageOption(): Option {
  return new Option(
    "--image <file>",
    "send an image with the prompt; repeatable",
  ).argParser((path, before: readonly string[] = []) => [...before, path]);
}
