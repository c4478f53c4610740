/**
 * A string or a number of JSON text. A string that is not closed goes to the
 * end, so that the search takes linear time.
 */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)|-?\d[\d.eE+-]*/gs;

/** A number that is valid JSON, and that `JSON.parse` reads as infinite. */
export const INFINITE = "1e999";

/** Longer numbers are not compared digit by digit. */
const MAX_COMPARED_LENGTH = 400;

/** Every number that has fewer characters and no exponent is exact. */
const ALWAYS_EXACT = /^[^eE]{1,15}$/;

/**
 * Returns JSON text with `substitute` for each number that a double cannot
 * hold with the same digits, such as 9007199254740993 and 1e400.
 */
export function replaceInexactNumbers(
  text: string,
  substitute: string,
): string {
  return text.replaceAll(TOKEN, (token) =>
    token.startsWith('"') || isExact(token) ? token : substitute,
  );
}

function isExact(number: string): boolean {
  if (ALWAYS_EXACT.test(number)) return true;
  if (number.length > MAX_COMPARED_LENGTH) return false;
  return digitsOf(number) === digitsOf(String(Number(number)));
}

/** Returns a number as its significant digits and a power of ten. */
function digitsOf(number: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number);
  if (!match) return number;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const zeros = digits.length - significant.length;
  const power = Number(exponent) - fraction.length + zeros;
  return `${sign}${significant}e${power}`;
}

/** A character after a backslash, or a code unit in hex. */
const ESCAPE = /\\(?:u(d[89a-f][0-9a-f]{2})|.)/gis;

/**
 * Returns what `JSON.stringify` wrote with U+FFFD for each surrogate that has
 * no partner: APIs refuse a request with one, and so each later request of the
 * conversation.
 */
export function replaceLoneSurrogates(json: string): string {
  // `JSON.stringify` escapes no surrogate that has a partner.
  return json.replaceAll(ESCAPE, (escaped, unit?: string) =>
    unit === undefined ? escaped : "\\ufffd",
  );
}
