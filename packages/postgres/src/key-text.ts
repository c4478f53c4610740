/**
 * Encodes an id for a column of type text, which cannot hold the character
 * U+0000. Any other id is itself, except that a backslash is doubled.
 */
export function keyText(id: string): string {
  return id.replaceAll(/[\\\0]/g, (character) =>
    character === "\0" ? String.raw`\0` : String.raw`\\`,
  );
}

/** Decodes a column that `keyText` encoded. */
export function idOfKey(key: string): string {
  return key.replaceAll(/\\(.)/g, (_, character: string) =>
    character === "0" ? "\0" : character,
  );
}
