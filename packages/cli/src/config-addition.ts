import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { realPathOrMissing } from "@devtool/internal/real-path";
import { errorCode, errorMessage, UsageError } from "./errors.ts";
import { ExitCode } from "./exit-code.ts";
import { type Io, writeLine } from "./io.ts";
import { parseToml } from "./parse-toml.ts";
import { writePrivateFile } from "./private-file.ts";
import { createQuestioner } from "./prompter.ts";
import { visibleName } from "./render/style.ts";

/** Lines for the end of `config.toml`, which a user is to see first. */
interface ConfigAddition {
  /** The directory of the file. */
  readonly data: string;
  readonly added: string;
  /** What the lines make devtool do. */
  readonly about: string;
  /** Whether to write without asking. */
  readonly yes: true | undefined;
}

/**
 * Shows lines for `config.toml`, and writes them when the user agrees. Returns
 * the exit code.
 *
 * Throws without a terminal, and when the file cannot take them.
 */
export async function addToConfig(
  { data, added, about, yes }: ConfigAddition,
  io: Io,
  signal: AbortSignal,
): Promise<number> {
  // A link leads to where the user keeps the file.
  const path = realPathOrMissing(join(data, "config.toml"));
  await extendedText(path, added);
  writeLine(
    io.stdout,
    `${about}\n\nThese lines are for ${visibleName(path)}:\n\n${added.trim()}\n`,
  );
  if (!yes && !(await agrees(io, signal))) {
    writeLine(io.stderr, "nothing was written");
    return ExitCode.CANCELED;
  }
  // The file may have changed while the user looked at the lines.
  await writePrivateFile(path, await extendedText(path, added));
  writeLine(io.stdout, `wrote ${visibleName(path)}: start the server again`);
  return ExitCode.OK;
}

/**
 * Throws for the name of something new for `config.toml` that is malformed, or
 * that something else there has, or nearly.
 *
 * @param remedy for example "choose another one with --name"
 */
export function assertNewName(
  name: string,
  taken: readonly string[],
  { what, remedy }: { readonly what: string; readonly remedy: string },
): void {
  if (!/^[\w-]{1,50}$/.test(name)) {
    throw new UsageError(
      `name "${name}" is not 1 to 50 letters, digits, - and _: ${remedy}`,
    );
  }
  const plain = (text: string) => text.toLowerCase().replaceAll("-", "_");
  const other = taken.find((one) => plain(one) === plain(name));
  if (other === undefined) return;
  throw new UsageError(
    `name "${name}" is that of ${what} "${other}" in config.toml, or nearly: ${remedy}`,
  );
}

/** Returns the text of the file with lines at its end. */
async function extendedText(path: string, added: string): Promise<string> {
  const before = await readFile(path, "utf8").catch((reason: unknown) => {
    if (errorCode(reason) === "ENOENT") return "";
    throw reason;
  });
  const text = `${before}${before === "" || before.endsWith("\n") ? "" : "\n"}${added}`;
  try {
    parseToml(text);
  } catch (reason) {
    throw new UsageError(
      `${visibleName(path)} cannot take further lines (${errorMessage(reason)}): write them yourself:\n${added}`,
    );
  }
  return text;
}

/** Asks whether to write. Throws without a terminal. */
async function agrees(io: Io, signal: AbortSignal): Promise<boolean> {
  if (!io.interactive) {
    throw new UsageError("nobody can be asked: look at it, and add --yes");
  }
  const question = { prompt: "Add it? [y/N] > ", takesWords: false };
  const answer = await createQuestioner(io).ask(question, signal);
  return /^y(es)?$/i.test(answer?.text.trim() ?? "");
}
