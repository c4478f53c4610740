import type { SlashCommand } from "@devtool/schema";

/**
 * The result of a completion, as `node:readline` expects it: the possible
 * lines, and the typed line.
 */
export type Completion = [completions: string[], line: string];

/**
 * Completes a slash command, word by word, from the server's commands and
 * `extra` ones of the program.
 *
 * A word after which more can be typed gets a space. Messages and arguments are
 * not completed.
 */
export function completeCommand(
  line: string,
  known: readonly SlashCommand[],
  extra: readonly string[],
): Completion {
  const [, before = "", word = ""] =
    /^\/((?:[^\s/]+\s+)*)([^\s/]*)$/.exec(line) ?? [];
  if (!line.startsWith("/") || (before === "" && word === "" && line !== "/")) {
    return [[], line];
  }
  const words = before.split(/\s+/).filter((each) => each !== "");
  const level = words.reduce<readonly SlashCommand[] | undefined>(
    (commands, name) =>
      commands?.find((command) => command.name === name)?.subCommands,
    known,
  );
  const own =
    words.length === 0 ? extra.filter((name) => name.startsWith(word)) : [];
  const found = (level ?? [])
    .filter(({ name }) => name.startsWith(word))
    .map((command) =>
      command.subCommands.length + command.arguments.length > 0
        ? `${command.name} `
        : command.name,
    );
  return [
    [...found, ...own].map((completed) => `/${before}${completed}`),
    line,
  ];
}
