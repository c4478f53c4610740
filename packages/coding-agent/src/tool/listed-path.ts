/**
 * Returns a path for a line of a listing. One that would not stay on its line,
 * or could be taken for a quoted one, is written as a JSON string.
 */
export function listedPath(path: string): string {
  if (!/[\p{Cc}\p{Zl}\p{Zp}]|^"/u.test(path)) return path;
  return JSON.stringify(path).replaceAll(
    /[\p{Cc}\p{Zl}\p{Zp}]/gu,
    (character) =>
      `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
