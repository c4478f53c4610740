/** Longer numbers are not compared digit by digit. */
const MAX_COMPARED_LENGTH = 400;

/** Every number that has fewer characters and no exponent is exact. */
const ALWAYS_EXACT = /^[^eE]{1,15}$/;

/**
 * Returns whether a double holds a number of JSON text with the same digits,
 * unlike 9007199254740993 and 1e400.
 */
export function isExactNumber(number: string): boolean {
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

/** Returns a string of JSON text without its escapes and quotes. */
export function unescaped(token: string): string {
  try {
    return String(JSON.parse(token));
  } catch {
    return token;
  }
}

/** What a number that a double cannot hold exactly has in it. */
const LONG_NUMBER = /[\d.]{15}|\d[eE]/;

/**
 * A string, with the colon behind it where it is a name, a number, or the begin
 * or end of an object or list. A string that is not closed goes to the end, so
 * that the search takes linear time.
 */
const TOKEN =
  /"[^"\\]*(?:\\.[^"\\]*)*(?:"(?:[ \t\n\r]*:)?|\\?$)|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|[{}[\]]/gs;

/**
 * Returns JSON text with every number that a double cannot hold with the same
 * digits, such as 9007199254740993 and 1e400, as a string of its digits
 * (JSON-3).
 *
 * @param fields names of the fields in whose values that is done, however deep;
 * default: everywhere
 */
export function quoteInexactNumbers(
  text: string,
  fields?: ReadonlySet<string>,
): string {
  if (!LONG_NUMBER.test(text)) return text;
  const none = fields ? Number.POSITIVE_INFINITY : 0;
  let depth = 0;
  // The depth of the one of `fields` in which this is.
  let fieldDepth = none;
  return text.replaceAll(TOKEN, (token) => {
    const first = token[0];
    if (first === "{" || first === "[") {
      depth++;
    } else if (first === "}" || first === "]") {
      depth--;
      if (depth < fieldDepth) fieldDepth = none;
    } else if (first === '"') {
      if (depth <= fieldDepth && token.endsWith(":")) {
        const name = unescaped(token.slice(0, -1).trimEnd());
        fieldDepth = fields?.has(name) ? depth : none;
      }
    } else if (depth >= fieldDepth && !isExactNumber(token)) {
      return `"${token}"`;
    }
    return token;
  });
}

/** A string, or the begin or end of an object or list. */
const STRUCTURE = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)|[{}[\]]/gs;

/**
 * Returns the texts of the objects and lists that follow each other in a text,
 * with anything else or nothing between them. The last one may be cut off.
 */
export function splitJson(text: string): string[] {
  const values: string[] = [];
  OPENING.lastIndex = 0;
  for (let begin = OPENING.exec(text); begin; begin = OPENING.exec(text)) {
    const end = endOfValue(text, begin.index);
    values.push(text.slice(begin.index, end));
    OPENING.lastIndex = end;
  }
  return values;
}

const OPENING = /[{[]/g;

/** Returns the position behind an object or list that begins at a position. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  STRUCTURE.lastIndex = start;
  for (let token = STRUCTURE.exec(text); token; token = STRUCTURE.exec(text)) {
    if (token[0] === "{" || token[0] === "[") depth++;
    if (token[0] === "}" || token[0] === "]") depth--;
    if (depth === 0) return STRUCTURE.lastIndex;
  }
  return text.length;
}

/** A character after a backslash, or a code unit in hex. */
const ESCAPE = /\\(?:u(d[89a-f][0-9a-f]{2})|.)/gis;

/**
 * Returns what `JSON.stringify` wrote with U+FFFD for each surrogate that has
 * no partner: many readers refuse the whole text for one.
 */
export function replaceLoneSurrogates(json: string): string {
  // `JSON.stringify` escapes no surrogate that has a partner.
  return json.includes("\\ud")
    ? json.replaceAll(ESCAPE, (escaped, unit?: string) =>
        unit === undefined ? escaped : "\\ufffd",
      )
    : json;
}
