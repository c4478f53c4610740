/** The length of the parts of a title, in UTF-16 code units. */
const MAX_LENGTH = 3;

/**
 * Returns the numbers of all parts of a title with one to three characters, by
 * which an index finds it.
 *
 * @param key the title as `foldTitle` gives it
 */
export function titleGrams(key: string): number[] {
  const grams = [1, 2, MAX_LENGTH].flatMap((length) => partsOf(key, length));
  return [...new Set(grams)];
}

/**
 * Returns the numbers that each title has which contains a text. Titles without
 * the text may have them, too.
 *
 * @param key the text as `foldTitle` gives it
 */
export function searchGrams(key: string): number[] {
  return [...new Set(partsOf(key, Math.min(key.length, MAX_LENGTH)))];
}

/** Returns the numbers of the parts of a text that have one length. */
function partsOf(text: string, length: number): number[] {
  const parts: number[] = [];
  for (let start = 0; start + length <= text.length; start++) {
    let hash = length;
    for (let at = start; at < start + length; at++) {
      hash = Math.imul(hash, 0x01_00_01_93) ^ text.charCodeAt(at);
    }
    parts.push(hash);
  }
  return parts;
}
