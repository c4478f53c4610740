import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";

/**
 * JSON of which one element was changed or removed.
 */
export interface Mutant {
  readonly json: JsonObject;
  readonly path: readonly string[];
  /**
   * What is at the path now. Undefined if it was removed.
   */
  readonly value: JsonValue | undefined;
}

const VALUES: readonly (JsonValue | undefined)[] = [
  undefined,
  null,
  77,
  "odd",
  true,
  [],
  [77],
  {},
  { odd: 1 },
];

/**
 * Changes or removes one element of JSON, at any depth.
 */
export function mutantOf(
  json: JsonObject,
  random: () => number,
  values: readonly (JsonValue | undefined)[] = VALUES,
): Mutant {
  const paths = pathsOf(json);
  const path = paths[Math.floor(random() * paths.length)] ?? [];
  const value = values[Math.floor(random() * values.length)];
  const changed = replaced(json, path, value);
  return { json: isObject(changed) ? changed : {}, path, value };
}

/**
 * Returns the paths of all elements within JSON.
 */
export function pathsOf(
  json: JsonValue,
  path: readonly string[] = [],
): (readonly string[])[] {
  const entries =
    typeof json === "object" && json !== null ? Object.entries(json) : [];
  const inner = entries.flatMap(([key, value]) =>
    pathsOf(value, [...path, key]),
  );
  return path.length === 0 ? inner : [path, ...inner];
}

/**
 * Returns JSON with another value at a path; undefined removes it.
 */
export function replaced(
  json: JsonValue,
  [key = "", ...rest]: readonly string[],
  value: JsonValue | undefined,
): JsonValue {
  if (Array.isArray(json)) {
    const index = Number(key);
    if (rest.length === 0 && value === undefined)
      return json.toSpliced(index, 1);
    const next =
      rest.length === 0
        ? (value ?? null)
        : replaced(json[index] ?? null, rest, value);
    return json.with(index, next);
  }
  const { [key]: old = null, ...others } = isObject(json) ? json : {};
  if (rest.length > 0) return { ...others, [key]: replaced(old, rest, value) };
  return value === undefined ? others : { ...others, [key]: value };
}

/** Returns a generator of numbers from 0 to 1 (mulberry32). */
export function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
