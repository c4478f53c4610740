import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import { pathsOf, replaced } from "./json-mutants.ts";

/** JSON with one element changed, removed or repeated. */
export interface Mutant {
  readonly json: JsonObject;
  /** The path of that element, such as `options.0.kind`. */
  readonly at: string;
}

/** A number whose digits JavaScript does not keep, in the text of `textOf`. */
const LONG_NUMBER = "9007199254740993";
const LONG = "@long@";

/** What stands in the place of a value; undefined removes it. */
const ODD: readonly ((value: JsonValue) => JsonValue | undefined)[] = [
  () => undefined,
  () => null,
  () => 77,
  () => -1,
  () => 1.5,
  () => LONG,
  () => true,
  () => "",
  () => "odd",
  () => "\ud800",
  (value) => (typeof value === "string" ? `${value}\udfff` : "a\udfffb"),
  () => [],
  () => [null],
  () => ({}),
  () => ({ odd: 1 }),
  (value) => [value],
  (value) => ({ 0: value }),
];

/**
 * Returns JSON with one element changed, removed or repeated. What is repeated
 * in a list has another value in one of its fields.
 */
export function mutantOf(json: JsonObject, random: () => number): Mutant {
  const pick = <T>(list: readonly T[], other: T): T =>
    list[Math.floor(random() * list.length)] ?? other;
  const path = pick(pathsOf(json), []);
  const old = valueAt(json, path);
  const list = valueAt(json, path.slice(0, -1));
  const odd = (value: JsonValue) => pick(ODD, () => null)(value);
  if (Array.isArray(list) && random() < 0.3) {
    const inner = pick(pathsOf(old), []);
    const twin =
      inner.length === 0
        ? old
        : replaced(old, inner, pick(["odd", "other", old], old));
    const more = list.toSpliced(Number(path.at(-1)) + 1, 0, twin);
    return mutant(replaced(json, path.slice(0, -1), more), path);
  }
  return mutant(replaced(json, path, odd(old)), path);
}

function mutant(json: JsonValue, path: readonly string[]): Mutant {
  return { json: isObject(json) ? json : {}, at: path.join(".") };
}

/** Returns JSON text, with the long number of a mutant in its digits. */
export function textOf(json: unknown): string {
  return JSON.stringify(json).replaceAll(`"${LONG}"`, LONG_NUMBER);
}

function valueAt(json: JsonValue, path: readonly string[]): JsonValue {
  return path.reduce<JsonValue>((value, key) => {
    if (Array.isArray(value)) return value[Number(key)] ?? null;
    return isObject(value) ? (value[key] ?? null) : null;
  }, json);
}
