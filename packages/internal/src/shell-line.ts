import type { JsonValue } from "@bufbuild/protobuf";
import { listOrEmpty } from "./json.ts";

/**
 * Returns words as a command line of a POSIX shell: those that a shell would
 * read in another way are quoted.
 */
export function shellLine(words: readonly string[]): string {
  return words
    .map((word) =>
      /^[\w@%+:,./-]+$/.test(word)
        ? word
        : `'${word.replaceAll("'", "'\\''")}'`,
    )
    .join(" ");
}

/**
 * Returns the command line that two arguments of a call make: a line or a list
 * of words, and a list of further words.
 */
export function commandLine(
  line: JsonValue | undefined,
  args: JsonValue | undefined,
): string {
  const words = [line, args].map(wordsOf);
  // A text is a command line already, which a shell reads.
  return typeof line === "string"
    ? [line, shellLine(words[1] ?? [])].join(" ").trim()
    : shellLine(words.flat());
}

/** Returns the words of a list; what is not a text is one as JSON. */
function wordsOf(list: unknown): string[] {
  return listOrEmpty(list).map((word) =>
    typeof word === "string" ? word : JSON.stringify(word),
  );
}
