/**
 * Returns the beginning of a text: at most `maxLength` UTF-16 code units. A
 * character that the limit would split is left out.
 */
export function keepStart(text: string, maxLength: number): string {
  const end = Math.max(0, maxLength);
  return text.slice(0, splitsCharacter(text, end) ? end - 1 : end);
}

/**
 * Returns the end of a text: at most `maxLength` UTF-16 code units. A character
 * that the limit would split is left out.
 */
export function keepEnd(text: string, maxLength: number): string {
  const start = Math.max(0, text.length - maxLength);
  return text.slice(splitsCharacter(text, start) ? start + 1 : start);
}

/** Whether an index is between the two halves of a surrogate pair. */
function splitsCharacter(text: string, index: number): boolean {
  return index > 0 && (text.codePointAt(index - 1) ?? 0) > 0xffff;
}

/**
 * Truncates a text for an error. The result has at most `maxLength` characters
 * (UTF-16 code units; default: 80), including the `…` at its end.
 */
export function shorten(text: string, maxLength: number = 80): string {
  return text.length > maxLength ? `${keepStart(text, maxLength - 1)}…` : text;
}
