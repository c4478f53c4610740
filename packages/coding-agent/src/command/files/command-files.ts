import { posix } from "node:path";
import { isPlaceholder } from "@devtool/sandbox";
import type { CommandFile } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import type { AgentModel } from "../../agent/model.ts";
import { clientError } from "../../client-error.ts";
import { hasConfig } from "../../trust/config-files.ts";
import { trustProblem, type WorkspaceTrust } from "../../trust/trust.ts";
import { optional } from "../arguments.ts";
import type { CommandSource, SlashCommand } from "../slash-command.ts";
import { promptModel } from "../steps.ts";

/** The directory of command files, relative to the workspace. */
const COMMAND_DIRECTORY = ".devtool/commands";

/**
 * The maximum number of command files. A notice gives the number of files if
 * there are more.
 */
const MAX_COMMANDS = 200;

/** Dependencies of the commands from command files. */
export interface CommandFilesOptions {
  readonly trust: WorkspaceTrust;
  /** The model that responds to the prompts. */
  readonly model: AgentModel;
  /** Receives notices for the operator, as plain text. */
  readonly onNotice: (text: string) => void;
}

/**
 * Creates a source that offers the command files of trusted workspaces:
 * `git/commit.toml` is `/git commit`.
 *
 * An invalid file is listed too, with the reason in its description.
 */
export function createCommandFiles(
  options: CommandFilesOptions,
): CommandSource {
  return {
    find: async ({ workspacePath }) => {
      const trust = await options.trust.trustOf(workspacePath);
      if (trust.case !== "trusted") {
        const isConfigured =
          trust.case === "changed" || hasConfig(workspacePath, isPlaceholder);
        return {
          commands: [],
          notices: isConfigured ? [trustProblem(workspacePath, trust)] : [],
        };
      }
      const files = [...trust.files]
        .filter(
          ([path]) =>
            path.startsWith(`${COMMAND_DIRECTORY}/`) &&
            /\.(toml|md)$/.test(path),
        )
        .sort(([one], [other]) => (one < other ? -1 : 1));
      const isLimited = files.length > MAX_COMMANDS;
      // Most workspaces have none, and do without what reads them.
      const { readCommandFile } = await import("./command-file.ts");
      return {
        commands: files
          .slice(0, MAX_COMMANDS)
          .map(([path, content]) =>
            createCommand(path, () => readCommandFile(path, content), options),
          ),
        notices: isLimited
          ? [`${files.length} command files: only ${MAX_COMMANDS} are offered`]
          : [],
      };
    },
  };
}

const PLACEHOLDER = /\{\{\s*args\s*\}\}/;

/**
 * Creates the command of a file. For an invalid file, creates a command whose
 * `play` throws the reason.
 */
function createCommand(
  path: string,
  read: () => CommandFile,
  { model, onNotice }: CommandFilesOptions,
): SlashCommand {
  const words = posix
    .relative(COMMAND_DIRECTORY, path)
    .replace(/\.(toml|md)$/, "")
    .split("/");
  try {
    const invalidWord = words.find(
      (word) => !/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(word),
    );
    if (invalidWord !== undefined) {
      const problem = `command file ${JSON.stringify(path)} has the word ${JSON.stringify(invalidWord)} in its name`;
      throw new DevtoolError(problem, Code.InvalidArgument, {
        remedy: 'use letters, digits, "-" and "_"',
      });
    }
    const { description, prompt, arguments: declared } = read();
    const implied = PLACEHOLDER.test(prompt)
      ? [optional("args", "what the prompt is about")]
      : [];
    return {
      path: words,
      description: description || `Prompt of ${path}`,
      group: `Runs a command of this workspace, from ${posix.dirname(path)}`,
      arguments: declared.length > 0 ? declared : implied,
      play: (args) =>
        promptModel(model, async () => [
          { role: "user", text: fillPrompt(prompt, args.trim()) },
        ]),
    };
  } catch (reason) {
    const error = clientError(
      reason,
      "reading a command file",
      { file: path },
      onNotice,
    );
    return {
      path: words,
      description: `Broken: ${error.message}`,
      arguments: [],
      play: () => {
        throw error;
      },
    };
  }
}

/**
 * Puts the arguments in place of each `{{args}}`, or after a prompt without
 * placeholders. Does not interpret the arguments.
 */
function fillPrompt(prompt: string, args: string): string {
  const pieces = prompt.split(PLACEHOLDER);
  if (pieces.length > 1) return pieces.join(args);
  return args === "" ? prompt : `${prompt.trimEnd()}\n\n${args}`;
}
