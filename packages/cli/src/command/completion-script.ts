import type { CommandRow, OptionRow } from "../command-table.ts";

/** The shells for which there are completions. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** Returns the text that a shell reads to complete `devtool`. */
export function completionScript(
  shell: (typeof SHELLS)[number],
  table: readonly CommandRow[],
): string {
  switch (shell) {
    case "bash":
      return bashScript(table);
    case "zsh":
      return zshScript(table);
    case "fish":
      return fishScript(table);
  }
}

/** The words of a command as a key: `tasks delete`; empty for `devtool`. */
function keyOf({ words }: CommandRow): string {
  return words.join(" ");
}

/** A `case` of shells that finds the command before the cursor. */
function commandCase(table: readonly CommandRow[], indent: string): string {
  const keys = table.filter(({ words }) => words.length > 0).map(keyOf);
  const patterns = keys.map((key) => `"${key}"`).join("|");
  return `${indent}case "\${at:+$at }$word" in ${patterns}) at="\${at:+$at }$word" ;; esac`;
}

function bashScript(table: readonly CommandRow[]): string {
  const words = table.map((row) => {
    const all = [
      ...row.subcommands.map(({ name }) => name),
      ...row.options.map(({ long }) => long),
    ];
    return `    "${keyOf(row)}") words="${all.join(" ")}" ;;`;
  });
  const choices = optionsWithChoices(table).map(
    ([key, { long, choices: values }]) =>
      `    "${key} ${long}") words="${values.join(" ")}" ;;`,
  );
  return `# Completions of devtool for bash.
_devtool() {
  local at="" words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${commandCase(table, "    ")}
  done
  case "$at" in
${words.join("\n")}
  esac
  case "$at \${COMP_WORDS[COMP_CWORD-1]}" in
${choices.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _devtool devtool
`;
}

function optionsWithChoices(
  table: readonly CommandRow[],
): readonly (readonly [key: string, option: OptionRow])[] {
  return table.flatMap((row) =>
    row.options
      .filter(({ choices }) => choices.length > 0)
      .map((option) => [keyOf(row), option] as const),
  );
}

function zshScript(table: readonly CommandRow[]): string {
  const item = (name: string, description: string): string =>
    quoted(`${name}:${description.replaceAll(":", "\\:")}`);
  const rows = table.map((row) => {
    const items = [
      ...row.subcommands.map((each) => item(each.name, each.description)),
      ...row.options.map((each) => item(each.long, each.description)),
    ];
    return `    "${keyOf(row)}") found=(${items.join(" ")}) ;;`;
  });
  const choices = optionsWithChoices(table).map(
    ([key, { long, choices: values }]) =>
      `    "${key} ${long}") found=(${values.map(quoted).join(" ")}) ;;`,
  );
  return `#compdef devtool
# Completions of devtool for zsh.
_devtool() {
  local at="" word
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
${commandCase(table, "    ")}
  done
  case "$at" in
${rows.join("\n")}
  esac
  case "$at \${words[CURRENT-1]}" in
${choices.join("\n")}
  esac
  _describe devtool found || _files
}
compdef _devtool devtool
`;
}

function fishScript(table: readonly CommandRow[]): string {
  const lines = table.flatMap((row) => {
    const here = `complete -c devtool -n '__devtool_at ${quotedInside(keyOf(row))}'`;
    return [
      ...row.subcommands.map(
        ({ name, description }) =>
          `${here} -f -a ${name} -d ${quoted(description)}`,
      ),
      ...row.options.map(({ long, description, takesValue, choices }) => {
        const name = `-l ${long.replace(/^--/, "")}`;
        const value = takesValue ? " -r" : "";
        const values =
          choices.length > 0 ? ` -f -a '${choices.join(" ")}'` : "";
        return `${here} ${name}${value}${values} -d ${quoted(description)}`;
      }),
    ];
  });
  const keys = table.filter(({ words }) => words.length > 0).map(keyOf);
  return `# Completions of devtool for fish.
function __devtool_at
  set -l at ""
  for word in (commandline -opc)[2..]
    set -l next (string trim -- "$at $word")
    contains -- $next ${keys.map(quoted).join(" ")}; and set at $next
  end
  test "$at" = "$argv[1]"
end
${lines.join("\n")}
`;
}

/** A word for bash, zsh and fish. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A word within a word that is quoted. */
function quotedInside(text: string): string {
  return `"${text}"`;
}
