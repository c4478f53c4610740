import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import type { specTypeSchemas } from "@modelcontextprotocol/client";

/** The schemas of the SDK, by the names of the specification's types. */
export type SpecSchemas = typeof specTypeSchemas;

/** Stands for what nests too deep. */
export const TOO_DEEP = "[nests too deep]";

/** The maximum length of a value in a sentence, in characters. */
const MAX_SHOWN_LENGTH = 60;

/** Returns a value as JSON in one short line. */
export function showJson(value: unknown): string {
  return oneLine(JSON.stringify(value) ?? "undefined", MAX_SHOWN_LENGTH);
}

/**
 * Returns why a value does not have a type of the specification: the first
 * field that is wrong, in one line. Undefined for a value that has the type.
 */
export function findProblem(
  schemas: SpecSchemas,
  type: keyof SpecSchemas,
  value: unknown,
): string | undefined {
  const result = schemas[type]["~standard"].validate(value);
  if (result instanceof Promise) return undefined;
  const [issue] = result.issues ?? [];
  if (!issue) return undefined;
  const path = (issue.path ?? []).map((segment) =>
    String(typeof segment === "object" ? segment.key : segment),
  );
  if (path.length === 0) return "it is not valid";
  const field = oneLine(path.join("."), MAX_SHOWN_LENGTH);
  const found = valueAt(value, path);
  if (found === undefined) return `${field} is missing`;
  const expected = issue.message.replace(
    /^Invalid [a-z]+: |, received.*$/g,
    "",
  );
  return `${field} is ${showJson(found)}: ${oneLine(expected, MAX_SHOWN_LENGTH)}`;
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== "object" || found === null) return undefined;
    found = Object.entries(found).find(([name]) => name === key)?.[1];
  }
  return found;
}

/** Returns an object without its fields that are null: null is absent. */
export function withoutNulls(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).filter(([, field]) => field !== null),
  );
}

/** Returns a value with the nulls dropped from it and all objects below. */
export function withoutNullsBelow(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNullsBelow);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(withoutNulls(value)).map(([key, field]) => [
      key,
      withoutNullsBelow(field),
    ]),
  );
}
