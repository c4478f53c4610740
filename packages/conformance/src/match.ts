import type { JsonValue } from "@bufbuild/protobuf";

/**
 * Compares a value with an expected one in part, and says where they differ first; undefined when they match. See
 * `Expectation` in `case.proto` for what stands for what.
 */
export function mismatch(expected: JsonValue, actual: JsonValue | undefined, path = "value"): string | undefined {
  if (typeof expected === "string") return mismatchText(expected, actual, path);
  if (Array.isArray(expected)) return mismatchList(expected, actual, path);
  if (typeof expected === "object" && expected !== null) return mismatchObject(expected, actual, path);
  return expected === actual ? undefined : differ(path, expected, actual);
}

function mismatchText(expected: string, actual: JsonValue | undefined, path: string): string | undefined {
  if (expected === "<any>") return actual === undefined || actual === null ? `${path} is missing` : undefined;
  if (expected === "<absent>")
    return actual === undefined ? undefined : `${path} must not be there: got ${show(actual)}`;
  if (expected === "<empty>") return isEmpty(actual) ? undefined : `${path} must be empty: got ${show(actual)}`;
  const choices = /^<one:(.*)>$/s.exec(expected)?.[1]?.split("|");
  if (choices) {
    const isOne = typeof actual === "string" && choices.includes(actual);
    return isOne ? undefined : `${path} must be one of ${choices.join(", ")}: got ${show(actual)}`;
  }
  const part = /^<has:(.*)>$/s.exec(expected)?.[1];
  if (part === undefined) return expected === actual ? undefined : differ(path, expected, actual);
  return typeof actual === "string" && actual.includes(part)
    ? undefined
    : `${path} must contain ${show(part)}: got ${show(actual)}`;
}

/** Whether a value is not there or holds the default of its type, which ProtoJSON lets a writer leave out. */
function isEmpty(value: JsonValue | undefined): boolean {
  return value === undefined || value === "" || value === false || (Array.isArray(value) && value.length === 0);
}

function mismatchList(expected: JsonValue[], actual: JsonValue | undefined, path: string): string | undefined {
  if (!Array.isArray(actual)) return differ(path, expected, actual);
  return firstOf(expected.map((item, index) => mismatch(item, actual[index], `${path}[${index}]`)));
}

function mismatchObject(
  expected: Readonly<Record<string, JsonValue>>,
  actual: JsonValue | undefined,
  path: string,
): string | undefined {
  if (expected["<contains>"] !== undefined) return mismatchMembers(expected["<contains>"], actual, path);
  if (expected["<length>"] !== undefined) return mismatchLength(expected["<length>"], actual, path);
  if (typeof actual !== "object" || actual === null || Array.isArray(actual)) return differ(path, expected, actual);
  return firstOf(Object.entries(expected).map(([key, item]) => mismatch(item, actual[key], `${path}.${key}`)));
}

/** Each expected item must be somewhere in the list. */
function mismatchMembers(expected: JsonValue, actual: JsonValue | undefined, path: string): string | undefined {
  if (!Array.isArray(actual) || !Array.isArray(expected)) return differ(path, expected, actual);
  const missing = expected.find((item) => actual.every((one) => mismatch(item, one) !== undefined));
  return missing === undefined ? undefined : `${path} must contain ${show(missing)}: got ${show(actual)}`;
}

function mismatchLength(expected: JsonValue, actual: JsonValue | undefined, path: string): string | undefined {
  const length = Array.isArray(actual) ? actual.length : (actual ?? undefined) === undefined ? 0 : undefined;
  return length === expected ? undefined : `${path} must have the length ${show(expected)}: got ${show(actual)}`;
}

/**
 * Finds expected values among actual ones, in order and each later than the one before; says which is not there. Among
 * those that differ, the nearest is told.
 */
export function missingInOrder(expected: readonly JsonValue[], actual: readonly JsonValue[]): string | undefined {
  let position = 0;
  for (const [index, item] of expected.entries()) {
    const found = actual.findIndex((value, at) => at >= position && mismatch(item, value) === undefined);
    if (found < 0) return `frame ${index + 1} of ${expected.length} did not come: ${show(item)}`;
    position = found + 1;
  }
  return undefined;
}

function firstOf(problems: readonly (string | undefined)[]): string | undefined {
  return problems.find((problem) => problem !== undefined);
}

function differ(path: string, expected: JsonValue, actual: JsonValue | undefined): string {
  return `${path} must be ${show(expected)}: got ${show(actual)}`;
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 300 ? `${text.slice(0, 299)}…` : text;
}
