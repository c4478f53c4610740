import { posix } from "node:path";
import { isPlaceholder } from "@devtool/sandbox";
import type { CommandFile, SlashCommandArgument } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import type { Model } from "../../agent/model.ts";
import { clientError } from "../../tool/hidden-fault.ts";
import { hasConfig } from "../../trust/config-files.ts";
import { type Trust, trustProblem, type WorkspaceTrust } from "../../trust/trust.ts";
import { optional } from "../arguments.ts";
import type { CommandSource, SlashCommand } from "../slash-command.ts";
import { prompting } from "../steps.ts";
import { readCommandFile } from "./command-file.ts";

/** Where a workspace has its command files. */
export const COMMAND_DIRECTORY = ".devtool/commands";

/** So many command files are offered; the others are named in a notice. */
const MAX_COMMANDS = 200;

/** What command files need. */
export interface CommandFilesOptions {
  readonly trust: WorkspaceTrust;
  /** Who is told the prompts. */
  readonly model: Model;
  /** Takes what the operator should know, in words. */
  readonly onNotice: (text: string) => void;
}

/** The command files of trusted workspaces: `git/commit.toml` is `/git commit`. A broken one is listed and says why. */
export function createCommandFiles({ trust, ...options }: CommandFilesOptions): CommandSource {
  return {
    model: options.model.name,
    find: async ({ workspacePath }) => {
      const answer = await trust.trustOf(workspacePath);
      const paths = commandPathsOf(answer);
      return {
        commands: paths.slice(0, MAX_COMMANDS).map(([path, content]) => commandOf(path, content, options)),
        notices: [
          ...(answer.case === "changed" || (answer.case === "untrusted" && hasConfig(workspacePath, isPlaceholder))
            ? [trustProblem(workspacePath, answer)]
            : []),
          ...(paths.length > MAX_COMMANDS ? [`${paths.length} command files: only ${MAX_COMMANDS} are offered`] : []),
        ],
      };
    },
  };
}

function commandPathsOf(answer: Trust): [string, Buffer][] {
  if (answer.case !== "trusted") return [];
  const all = [...answer.files].filter(
    ([path]) => path.startsWith(`${COMMAND_DIRECTORY}/`) && /\.(toml|md)$/.test(path),
  );
  return all.sort(([one], [other]) => (one < other ? -1 : 1));
}

function commandOf(
  path: string,
  content: Buffer,
  { model, onNotice }: Omit<CommandFilesOptions, "trust">,
): SlashCommand {
  const words = wordsOf(path);
  try {
    assertWords(path, words);
    const file = readCommandFile(path, content);
    return {
      path: words,
      description: file.description || `Prompt of ${path}`,
      group: `Runs a command of this workspace, from ${posix.dirname(path)}`,
      arguments: argumentsOf(file),
      play: (args) => prompting(model, async () => [{ role: "user", text: filledIn(file.prompt, args) }]),
    };
  } catch (reason) {
    return brokenCommand(
      words,
      clientError(reason, { what: "reading a command file", place: { file: path }, onNotice }),
    );
  }
}

function wordsOf(path: string): string[] {
  const inside = posix.relative(COMMAND_DIRECTORY, path);
  return inside.replace(/\.(toml|md)$/, "").split("/");
}

function assertWords(path: string, words: readonly string[]): void {
  const odd = words.find((word) => !/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(word));
  if (odd === undefined) return;
  throw new DevtoolError(
    `command file ${JSON.stringify(path)} has the word ${JSON.stringify(odd)} in its name`,
    Code.InvalidArgument,
    { remedy: 'use letters, digits, "-" and "_"' },
  );
}

/** A command that cannot start, and says why. */
function brokenCommand(path: readonly string[], reason: DevtoolError): SlashCommand {
  return {
    path,
    description: `Broken: ${reason.message}`,
    arguments: [],
    play: () => {
      throw reason;
    },
  };
}

function argumentsOf({ arguments: declared, prompt }: CommandFile): readonly SlashCommandArgument[] {
  if (declared.length > 0) return declared;
  return PLACEHOLDER.test(prompt) ? [optional("args", "what the prompt is about")] : [];
}

const PLACEHOLDER = /\{\{\s*args\s*\}\}/;

/** The prompt with what was typed: in its places, or below it. What was typed is text and nothing else. */
function filledIn(prompt: string, args: string): string {
  if (PLACEHOLDER.test(prompt)) return prompt.split(new RegExp(PLACEHOLDER, "g")).join(args.trim());
  return args.trim() === "" ? prompt : `${prompt.trimEnd()}\n\n${args.trim()}`;
}
