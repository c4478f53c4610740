import type { JsonValue } from "@bufbuild/protobuf";
import { WireError } from "./wire-error.ts";

/** Limits for JSON from a peer. */
export interface JsonLimits {
  /** Maximum size of a document in bytes of UTF-8. Default: 4 MiB. */
  readonly maxBytes: number;
  /** Maximum nesting of objects and arrays. Default: 64. */
  readonly maxDepth: number;
  /**
   * Maximum number of values, including objects and arrays. Default: 50,000.
   */
  readonly maxNodes: number;
}

/**
 * Default limits. A `Struct` takes many times the memory of its text, so a size
 * limit alone is not enough.
 */
export const DEFAULT_LIMITS: JsonLimits = {
  maxBytes: 4 * 1024 * 1024,
  maxDepth: 64,
  maxNodes: 50_000,
};

/**
 * Parses JSON text within limits. Throws a `WireError` with the limit if it
 * exceeds one, and for text that is not valid JSON.
 */
export function parseJson(
  text: string,
  limits: JsonLimits = DEFAULT_LIMITS,
): JsonValue {
  const bytes =
    text.length * 3 <= limits.maxBytes ? text.length : utf8Length(text);
  if (bytes > limits.maxBytes) {
    throw overBudget(`has ${bytes} bytes`, limits.maxBytes);
  }
  // A short text is cheap to parse, whatever it holds.
  if (text.length > limits.maxNodes) assertJsonBudget(text, limits);
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new WireError("", "", "the document is not valid JSON", { cause });
  }
  assertBudget(value, limits);
  return value;
}

function utf8Length(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    bytes +=
      unit < 0x80
        ? 1
        : unit < 0x800
          ? 2
          : unit >= 0xd800 && unit < 0xe000
            ? 2
            : 3;
  }
  return bytes;
}

/**
 * Limits the nesting and the number of values of JSON text, before it is
 * parsed. Throws a `WireError` with the limit.
 *
 * It scans each character once. A regular expression for strings would restart
 * at every quote if the last string is not closed.
 */
export function assertJsonBudget(
  text: string,
  { maxDepth, maxNodes }: JsonLimits = DEFAULT_LIMITS,
): void {
  let depth = 0;
  let nodes = 1;
  let isFirst = false;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? "";
    if (isInString) {
      // A backslash takes the next character with it.
      if (char === "\\") {
        at++;
      } else if (char === '"') {
        isInString = false;
      }
      continue;
    }
    if (BLANKS.has(char)) continue;
    const isEnd = char === "]" || char === "}";
    // The first value of an object or array has no comma before it.
    if (char === "," || (isFirst && !isEnd)) nodes++;
    isFirst = char === "[" || char === "{";
    if (isFirst) {
      depth++;
    } else if (isEnd) {
      depth--;
    } else if (char === '"') {
      isInString = true;
    }
    if (depth > maxDepth) {
      throw overBudget(`nests deeper than ${maxDepth} levels`, maxDepth);
    }
    if (nodes > maxNodes) {
      throw overBudget(`holds more than ${maxNodes} values`, maxNodes);
    }
  }
}

const BLANKS: ReadonlySet<string> = new Set([" ", "\t", "\n", "\r"]);

function overBudget(problem: string, limit: number): WireError {
  return new WireError("", "", `the document ${problem}: limit is ${limit}`);
}

/**
 * Limits the nesting and the number of values of parsed JSON. Throws a
 * `WireError` with the limit.
 *
 * It also rejects numbers beyond the range of a double, which have no JSON
 * form.
 */
export function assertBudget(
  value: unknown,
  { maxDepth, maxNodes }: JsonLimits = DEFAULT_LIMITS,
): void {
  let nodes = 0;
  const visit = (item: unknown, depth: number): void => {
    if (++nodes > maxNodes) {
      throw overBudget(`holds more than ${maxNodes} values`, maxNodes);
    }
    if (item === Infinity || item === -Infinity) {
      throw new WireError(
        "",
        "",
        "the document holds a number that is too big: limit is 1.8e308",
      );
    }
    if (typeof item !== "object" || item === null) return;
    if (depth >= maxDepth) {
      throw overBudget(`nests deeper than ${maxDepth} levels`, maxDepth);
    }
    for (const inner of Object.values(item)) visit(inner, depth + 1);
  };
  visit(value, 0);
}
