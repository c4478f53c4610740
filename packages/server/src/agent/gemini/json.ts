/** Reads a member of an object; undefined when there is none. */
export function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

/** Takes a value as a list; empty when it is none. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Takes a value as text; empty when it is none. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Parses JSON; undefined when it is none. */
export function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
