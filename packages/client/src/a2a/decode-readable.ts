import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import { snakeCase } from "@devtool/internal/snake-case";
import { mistyped, WireError } from "@devtool/schema";
import type { EndpointOptions } from "./endpoint.ts";
import { unreadableAnswer } from "./wire.ts";

/**
 * What could be decoded of an answer.
 */
export interface Readable<T> {
  /**
   * Undefined if nothing could be decoded.
   */
  readonly value: T | undefined;
  /**
   * What was left out, and why: one sentence for each element.
   */
  readonly leftOut: readonly string[];
}

/**
 * Maximum number of elements that are left out of one document, because each
 * is found by decoding the document again.
 */
const MAX_LEFT_OUT = 100;

/**
 * Decodes JSON of another agent. An element that cannot be decoded is left out,
 * and costs only itself: the smallest element that the error of `decode` names,
 * or the one around it if the rest then still cannot be decoded.
 *
 * `decode` throws a `WireError` with the path of the element. Other errors are
 * thrown.
 */
export function decodeReadable<T>(
  json: JsonValue,
  decode: (json: JsonValue) => T,
): Readable<T> {
  const leftOut: string[] = [];
  let rest = json;
  let removed: Path = [];
  for (let tries = 0; tries < 2 * MAX_LEFT_OUT; tries++) {
    try {
      return { value: decode(rest), leftOut };
    } catch (reason) {
      if (!(reason instanceof WireError)) throw reason;
      const path = resolve(rest, reason.field);
      // After an element, the one around it: both are one loss.
      if (!isAround(path, removed)) leftOut.push(reason.message);
      if (path.length === 0 || leftOut.length > MAX_LEFT_OUT) break;
      rest = without(rest, path);
      removed = path;
    }
  }
  return { value: undefined, leftOut };
}

/**
 * Decodes an answer as `decodeReadable` does, and calls `tell` for what was left
 * out, as `EndpointOptions.onLeftOut` describes. Throws `Code.DataLoss` if
 * nothing can be decoded.
 */
export function decodeTold<T>(
  json: JsonValue,
  decode: (json: JsonValue) => T,
  tell: EndpointOptions["onLeftOut"],
): T {
  const { value, leftOut } = decodeReadable(json, decode);
  if (value === undefined) throw unreadableAnswer(leftOut);
  for (const why of leftOut) tell?.(why);
  return value;
}

/**
 * Decodes each item of a list alone, and calls `tell` for each that is left out,
 * as a whole: half of it would mean something else. Null is an empty list. Throws
 * `Code.DataLoss` for what is not a list.
 */
export function decodeEach<T>(
  list: JsonValue,
  decode: (item: JsonValue) => T,
  tell: EndpointOptions["onLeftOut"],
): T[] {
  if (list === null) return [];
  if (!Array.isArray(list)) {
    throw unreadableAnswer([mistyped("", list, "a list").message]);
  }
  return list.flatMap((item, index) => {
    try {
      return [decode(item)];
    } catch (reason) {
      if (!(reason instanceof WireError)) throw reason;
      tell?.(`item ${index + 1} of the list: ${reason.message}`);
      return [];
    }
  });
}

type Path = readonly (string | number)[];

/**
 * Returns the path of the element that a field of an error names, as far as the
 * element exists. Errors may name it from the frame in a JSON-RPC result, or
 * from the task in a frame.
 */
function resolve(json: JsonValue, field: string): Path {
  const names = Array.from(
    field.matchAll(/\[("(?:[^"\\]|\\.)*")\]|\[(\d+)\]|([^.[\]]+)/g),
    ([, quoted, index, name = ""]) =>
      quoted === undefined
        ? index === undefined
          ? name
          : Number(index)
        : String(JSON.parse(quoted)),
  );
  const starts: Path[] = [names, names.slice(1), ["task", ...names]];
  const found = starts.map((path) => existing(json, path));
  return found.find((path) => path.length > 0) ?? [];
}

function existing(json: JsonValue, [name, ...rest]: Path): Path {
  if (Array.isArray(json)) {
    const item = typeof name === "number" ? json[name] : undefined;
    return name === undefined || item === undefined
      ? []
      : [name, ...existing(item, rest)];
  }
  if (!isObject(json) || typeof name !== "string") return [];
  const key = [name, snakeCase(name)].find((each) => Object.hasOwn(json, each));
  const value = key === undefined ? undefined : json[key];
  return key === undefined || value === undefined
    ? []
    : [key, ...existing(value, rest)];
}

function isAround(path: Path, inner: Path): boolean {
  return (
    path.length < inner.length &&
    path.every((name, index) => name === inner[index])
  );
}

function without(json: JsonValue, [name, ...rest]: Path): JsonValue {
  if (Array.isArray(json) && typeof name === "number") {
    const item = json[name];
    return rest.length === 0 || item === undefined
      ? json.toSpliced(name, 1)
      : json.with(name, without(item, rest));
  }
  if (!isObject(json) || typeof name !== "string") return json;
  const { [name]: value, ...others } = json;
  if (rest.length === 0 || value === undefined) return others;
  const kept: JsonObject = { ...others, [name]: without(value, rest) };
  return kept;
}
