import { EXIT_CODES } from "../command-options.ts";
import type { CommandRow } from "../command-table.ts";

/** Returns the manual page of the command, in the language of man(7). */
export function manualPage(
  table: readonly CommandRow[],
  version: string,
): string {
  const [devtool, ...commands] = table;
  const sections = commands.map(({ words, usage, description, options }) =>
    [
      `.SS ${escaped(`devtool ${words.join(" ")} ${usage}`)}`,
      escaped(description),
      ...options.map(
        (option) =>
          `.TP\n.B ${escaped(option.flags)}\n${escaped(option.description)}`,
      ),
    ].join("\n"),
  );
  return `.TH DEVTOOL 1 "" ${escaped(`"devtool ${version}"`)}
.SH NAME
devtool \\- ${escaped(devtool?.description ?? "")}
.SH SYNOPSIS
.B devtool
.I command
[options]
.SH COMMANDS
${sections.join("\n")}
.SH EXIT STATUS
.nf
${escaped(EXIT_CODES.trim().split("\n").slice(1).join("\n"))}
.fi
`;
}

/** A text that neither is a request nor has an escape of roff. */
function escaped(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll(/^(?=[.'])/gm, "\\&");
}
