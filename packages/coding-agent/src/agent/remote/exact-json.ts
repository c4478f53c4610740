import { isExactNumber } from "@devtool/internal/exact-json";

/**
 * A string or a number of JSON text. A string that is not closed goes to the
 * end, so that the search takes linear time.
 */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)|-?\d[\d.eE+-]*/gs;

/** A number that is valid JSON, and that `JSON.parse` reads as infinite. */
export const INFINITE = "1e999";

/**
 * Returns JSON text with `substitute` for each number that a double cannot
 * hold with the same digits, such as 9007199254740993 and 1e400.
 */
export function replaceInexactNumbers(
  text: string,
  substitute: string,
): string {
  return text.replaceAll(TOKEN, (token) =>
    token.startsWith('"') || isExactNumber(token) ? token : substitute,
  );
}
