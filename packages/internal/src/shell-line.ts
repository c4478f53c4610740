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
