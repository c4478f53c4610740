import { create } from "@bufbuild/protobuf";
import {
  type SlashCommandArgument,
  SlashCommandArgumentSchema,
} from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";

/** Declares an argument without which a command does not start. */
export function required(
  name: string,
  description: string,
): SlashCommandArgument {
  return create(SlashCommandArgumentSchema, {
    name,
    description,
    isRequired: true,
  });
}

/** Declares an argument that may be omitted. */
export function optional(
  name: string,
  description: string,
): SlashCommandArgument {
  return create(SlashCommandArgumentSchema, { name, description });
}

/**
 * Parses the text after a command as values of its arguments.
 *
 * A word `name=value` sets the argument of that name. The other words set the
 * remaining arguments in order, and the last one of these gets all words that
 * are left. Quotes enclose values that contain spaces.
 *
 * Throws `Code.InvalidArgument` for a missing required argument and for an
 * unclosed quote.
 */
export function readArguments(
  declared: readonly SlashCommandArgument[],
  args: string,
): Readonly<Record<string, string>> {
  const unclosed = /(?<=^|\s)(?:[^\s="']+=)?(["'])(?:(?!\1).)*$/s.exec(
    args.replaceAll(QUOTED_WORD, " "),
  );
  if (unclosed) {
    throw new DevtoolError(
      `quote ${unclosed[1]} is not closed`,
      Code.InvalidArgument,
      { remedy: "close it, or leave it out" },
    );
  }
  const values = new Map<string, string>();
  const otherWords: string[] = [];
  // Words end at spaces that are not in quotes. The quotes around a word, or
  // around the value of `name=`, are removed.
  for (const written of args.match(
    /(?:[^\s="']+=)?(?:"[^"]*"|'[^']*')(?=\s|$)|\S+/g,
  ) ?? []) {
    const word = written.replace(/^([^\s="']+=)?(["'])(.*)\2$/s, "$1$3");
    const [, name, value] = /^([^=\s]+)=(.*)$/s.exec(word) ?? [];
    if (
      name !== undefined &&
      value !== undefined &&
      declared.some((argument) => argument.name === name)
    ) {
      values.set(name, value);
    } else {
      otherWords.push(word);
    }
  }
  const unset = declared.filter(({ name }) => !values.has(name));
  for (const [index, { name }] of unset.entries()) {
    const isLast = index === unset.length - 1;
    const words = otherWords.slice(index, isLast ? undefined : index + 1);
    if (words.length > 0) values.set(name, words.join(" "));
  }
  const missing = declared.find(
    ({ name, isRequired }) => isRequired && !values.has(name),
  );
  if (missing) {
    throw new DevtoolError(
      `<${missing.name}> is missing: ${missing.description}`,
      Code.InvalidArgument,
    );
  }
  return Object.fromEntries(values);
}

/** Matches a quoted word, or a `name=` with a quoted value. */
const QUOTED_WORD = /(?<=^|\s)(?:[^\s="']+=)?(?:"[^"]*"|'[^']*')(?=\s|$)/g;
