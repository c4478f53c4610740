import type { Command, Option } from "commander";

/** A command and all that can be written after its name. */
export interface CommandRow {
  /** Its words; empty for `devtool` itself. */
  readonly words: readonly string[];
  /** How it is written, for example `[options] <task>`. */
  readonly usage: string;
  readonly description: string;
  readonly options: readonly OptionRow[];
  readonly subcommands: readonly {
    readonly name: string;
    readonly description: string;
  }[];
}

/** An option of a command. */
export interface OptionRow {
  /** For example `-y, --yes` or `--data <dir>`. */
  readonly flags: string;
  /** For example `--data`. */
  readonly long: string;
  readonly description: string;
  readonly takesValue: boolean;
  /** The values that it takes; empty for any. */
  readonly choices: readonly string[];
}

/** Returns a command and all commands below it, each after its parent. */
export function commandTable(
  command: Command,
  words: readonly string[] = [],
): readonly CommandRow[] {
  const row = {
    words,
    usage: command.usage(),
    description: command.description(),
    options: command.createHelp().visibleOptions(command).map(optionRow),
    subcommands: command.commands.map((each) => ({
      name: each.name(),
      description: each.description(),
    })),
  };
  const below = command.commands.flatMap((each) =>
    commandTable(each, [...words, each.name()]),
  );
  return [row, ...below];
}

function optionRow(option: Option): OptionRow {
  return {
    flags: option.flags,
    long: option.long ?? option.flags,
    description: option.description,
    takesValue: option.required || option.optional,
    choices: option.argChoices ?? [],
  };
}
