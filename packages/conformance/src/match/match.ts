import type { JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";

/**
 * Compares a value with an expected one and describes the first difference.
 * Returns undefined if the value matches.
 *
 * The comparison is partial: objects may have more fields, and lists more
 * items, than expected. `Expectation` in `case.proto` lists the placeholders,
 * such as `<any>`.
 */
export function mismatch(
  expected: JsonValue,
  actual: JsonValue | undefined,
  path = "value",
): string | undefined {
  if (typeof expected === "string") return textMismatch(expected, actual, path);
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return difference(path, expected, actual);
    return firstProblem(
      expected.map((item, index) =>
        mismatch(item, actual[index], `${path}[${index}]`),
      ),
    );
  }
  if (!isObject(expected)) {
    return expected === actual ? undefined : difference(path, expected, actual);
  }
  const { "<contains>": members, "<either>": choices } = expected;
  if (Array.isArray(choices)) return noneMatches(choices, actual, path);
  if (members !== undefined) {
    if (!Array.isArray(actual) || !Array.isArray(members)) {
      return difference(path, members, actual);
    }
    const missing = members.find((member) =>
      actual.every((item) => mismatch(member, item) !== undefined),
    );
    return missing === undefined
      ? undefined
      : `${path} must contain ${preview(missing)}: got ${preview(actual)}`;
  }
  const { "<length>": length, "<at-most>": maxLength } = expected;
  if (length !== undefined || maxLength !== undefined) {
    const items = actual ?? [];
    const count = Array.isArray(items) ? items.length : Number.NaN;
    if (length === undefined ? count <= Number(maxLength) : count === length) {
      return undefined;
    }
    const wanted =
      length === undefined
        ? `at most ${preview(maxLength)} items`
        : `length ${preview(length)}`;
    return `${path} must have ${wanted}: got ${preview(actual)}`;
  }
  if (!isObject(actual)) return difference(path, expected, actual);
  return firstProblem(
    Object.entries(expected).map(([key, item]) =>
      mismatch(item, actual[key], `${path}.${key}`),
    ),
  );
}

/**
 * Describes why a value matches none of several: the difference from the one
 * whose first field it has, or from the first.
 */
function noneMatches(
  choices: readonly JsonValue[],
  actual: JsonValue | undefined,
  path: string,
): string | undefined {
  const problems = choices.map((choice) => mismatch(choice, actual, path));
  if (problems.includes(undefined)) return undefined;
  const meant = choices.findIndex((choice) => {
    const [[field = "", value = null] = []] = Object.entries(choice ?? {});
    const given = isObject(actual) ? actual[field] : undefined;
    return isObject(value)
      ? given !== undefined
      : mismatch(value, given) === undefined;
  });
  return problems[Math.max(meant, 0)];
}

/**
 * Compares two values for equality and describes the first difference. Each
 * direction of the partial comparison alone would allow additional fields on
 * one side.
 */
export function inequality(
  expected: JsonValue,
  actual: JsonValue,
  path = "value",
): string | undefined {
  return mismatch(expected, actual, path) ?? mismatch(actual, expected, path);
}

/**
 * Looks for the expected values among the actual ones, each after the one
 * before, with others allowed in between. Describes the first one that is
 * missing.
 */
export function missingInOrder(
  expected: readonly JsonValue[],
  actual: readonly JsonValue[],
): string | undefined {
  let position = 0;
  for (const [index, item] of expected.entries()) {
    const found = actual.findIndex(
      (value, at) => at >= position && mismatch(item, value) === undefined,
    );
    if (found < 0) {
      return `frame ${index + 1} of ${expected.length} did not come: ${preview(item)}`;
    }
    position = found + 1;
  }
  return undefined;
}

/**
 * Returns the first problem of a list. Undefined stands for no problem.
 */
export function firstProblem(
  problems: readonly (string | undefined)[],
): string | undefined {
  return problems.find((problem) => problem !== undefined);
}

/**
 * Writes a value as JSON for an error message, cut after `maxLength`
 * characters.
 */
export function preview(value: unknown, maxLength = 300): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}

function textMismatch(
  expected: string,
  actual: JsonValue | undefined,
  path: string,
): string | undefined {
  if (expected === "<any>") {
    return actual === undefined || actual === null
      ? `${path} is missing`
      : undefined;
  }
  if (expected === "<absent>") {
    return actual === undefined
      ? undefined
      : `${path} must be absent: got ${preview(actual)}`;
  }
  if (expected === "<empty>") {
    // ProtoJSON lets a writer omit a field that holds its default.
    const isEmptyList = Array.isArray(actual) && actual.length === 0;
    const isEmpty =
      actual === undefined || actual === "" || actual === false || isEmptyList;
    return isEmpty
      ? undefined
      : `${path} must be empty: got ${preview(actual)}`;
  }
  const choices = /^<one:(.*)>$/s.exec(expected)?.[1]?.split("|");
  if (choices) {
    const isChoice = typeof actual === "string" && choices.includes(actual);
    return isChoice
      ? undefined
      : `${path} must be one of ${choices.join(", ")}: got ${preview(actual)}`;
  }
  const part = /^<has:(.*)>$/s.exec(expected)?.[1];
  if (part === undefined) {
    return expected === actual ? undefined : difference(path, expected, actual);
  }
  const hasPart = typeof actual === "string" && actual.includes(part);
  return hasPart
    ? undefined
    : `${path} must contain ${preview(part)}: got ${preview(actual)}`;
}

function difference(
  path: string,
  expected: JsonValue,
  actual: JsonValue | undefined,
): string {
  return `${path} must be ${preview(expected)}: got ${preview(actual)}`;
}
