import type { SlashCommand } from "@devtool/schema";
import { visibleName } from "../render/style.ts";
import { isSlashLine } from "../slash-line.ts";
import {
  type Choosing,
  commandRefusal,
  LOCAL_COMMANDS,
} from "./local-command.ts";

/** Maximum number of arguments that are described. */
const MAX_ARGUMENTS = 4;

/**
 * Returns a line with the usage of the command in a draft, and one for each
 * argument; none before its name is complete.
 */
export function commandHelp(
  draft: string,
  known: readonly SlashCommand[],
  choices: Choosing,
): string[] {
  if (!isSlashLine(draft) || draft.includes("\n")) return [];
  const words = draft.slice(1).split(/\s+/);
  const local = LOCAL_COMMANDS.find(({ name }) => name === words[0]);
  if (local) {
    const { name, argument } = local;
    const what = commandRefusal(name, choices) || local.what;
    return what === "" ? [] : [`  ${`/${name} ${argument}`.trim()}: ${what}`];
  }
  const path: string[] = [];
  let [level, found]: [readonly SlashCommand[], SlashCommand | undefined] = [
    known,
    undefined,
  ];
  for (const word of words) {
    const next = level.find(({ name }) => name === word);
    if (!next) break;
    [level, found] = [next.subCommands, next];
    path.push(next.name);
  }
  if (!found) return [];
  const { description, arguments: takes, subCommands } = found;
  const places = takes.map(({ name, isRequired }) =>
    isRequired ? `<${name}>` : `[${name}]`,
  );
  const below =
    subCommands.length === 0
      ? []
      : [subCommands.map(({ name }) => name).join("|")];
  const said = takes
    .filter((argument) => argument.description !== "")
    .slice(0, MAX_ARGUMENTS);
  return [
    `  /${[...path, ...below, ...places].join(" ")}: ${description}`,
    ...said.map((argument) => `    ${argument.name}: ${argument.description}`),
  ].map((line) => visibleName(line));
}
