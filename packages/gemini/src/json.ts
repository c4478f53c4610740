/** Returns a member of an object; undefined when there is none. */
export function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

/** Returns a value if it is a text, and else an empty one. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Parses JSON; undefined for a text that is not valid. */
export function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
