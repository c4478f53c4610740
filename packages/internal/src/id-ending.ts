/**
 * Returns the end of an option's id that an agent chooses: its own word, or a
 * number for what could look like more than a word in a list of ids.
 */
export function idEnding(word: string, index: number): string {
  return /^"?[\w.-]{1,40}"?$/.test(word) ? word : `#${index + 1}`;
}
