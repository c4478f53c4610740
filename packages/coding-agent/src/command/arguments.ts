import { create } from "@bufbuild/protobuf";
import { type SlashCommandArgument, SlashCommandArgumentSchema } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";

/** An argument that a command does not start without. */
export function required(name: string, description: string): SlashCommandArgument {
  return create(SlashCommandArgumentSchema, { name, description, isRequired: true });
}

/** An argument that may be left out. */
export function optional(name: string, description: string): SlashCommandArgument {
  return create(SlashCommandArgumentSchema, { name, description });
}

/**
 * Reads what was typed after a command as values of its arguments: `name=value` words, quotes around what holds spaces,
 * and the other words in the order of the arguments that have none; the last takes all that is left. Throws
 * `Code.InvalidArgument` for one that is required and missing, and for a quote that is not closed.
 */
export function readArguments(
  declared: readonly SlashCommandArgument[],
  args: string,
): Readonly<Record<string, string>> {
  const values = new Map<string, string>();
  const loose: string[] = [];
  for (const word of wordsOf(args)) {
    const [, name, value] = /^([^=\s]+)=(.*)$/s.exec(word) ?? [];
    if (name !== undefined && value !== undefined && declared.some((argument) => argument.name === name)) {
      values.set(name, value);
    } else loose.push(word);
  }
  const open = declared.filter(({ name }) => !values.has(name));
  for (const [index, { name }] of open.entries()) {
    const rest = index === open.length - 1 ? loose.slice(index) : loose.slice(index, index + 1);
    if (rest.length > 0) values.set(name, rest.join(" "));
  }
  const missing = declared.find(({ name, isRequired }) => isRequired && !values.has(name));
  if (missing) throw new DevtoolError(`<${missing.name}> is missing: ${missing.description}`, Code.InvalidArgument);
  return Object.fromEntries(values);
}

/** A word in quotes, as it is split off. */
const CLOSED = /(?<=^|\s)(?:[^\s="']+=)?(?:"[^"]*"|'[^']*')(?=\s|$)/g;

/** Splits at spaces; a word, or the value of a `name=`, that stands in quotes may hold spaces and loses the quotes. */
function wordsOf(args: string): string[] {
  const open = /(?<=^|\s)(?:[^\s="']+=)?(["'])(?:(?!\1).)*$/s.exec(args.replaceAll(CLOSED, " "));
  if (open)
    throw new DevtoolError(`quote ${open[1]} is not closed`, Code.InvalidArgument, {
      remedy: "close it, or leave it out",
    });
  const words = args.match(/(?:[^\s="']+=)?(?:"[^"]*"|'[^']*')(?=\s|$)|\S+/g) ?? [];
  return words.map((word) => word.replace(/^([^\s="']+=)?(["'])(.*)\2$/s, "$1$3"));
}
