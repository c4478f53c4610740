import { RequestRefused } from "@devtool/coding-agent/testing/fake-model";
import { isObject } from "@devtool/internal/json";

/** An object of a request, as it came. */
export type Fields = Readonly<Record<string, unknown>>;

/** Refuses a name of a tool that Anthropic refuses. */
export function checkToolName(value: unknown, path: string): string {
  const name = checkString(value, path);
  if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name)) {
    refuse(`${path}: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
  }
  return name;
}

/** Returns a value if it is an object; refuses the request otherwise. */
export function checkObject(value: unknown, path: string): Fields {
  if (!isObject(value)) refuse(`${path}: Input should be a valid dictionary`);
  return value;
}

/** Returns a value if it is a string; refuses the request otherwise. */
export function checkString(value: unknown, path: string): string {
  if (typeof value !== "string") {
    refuse(`${path}: Input should be a valid string`);
  }
  return value;
}

/**
 * Returns a value if it is a list with at least one item; refuses the request
 * otherwise.
 */
export function checkList(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) refuse(`${path}: Input should be a valid list`);
  if (value.length === 0) refuse(`${path}: at least one item is required`);
  return value;
}

/** Refuses a request as invalid. */
export function refuse(message: string): never {
  throw new RequestRefused({ status: 400, message });
}
