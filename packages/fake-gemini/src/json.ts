/** A JSON object that nothing is known of. */
export type Unknown = Readonly<Record<string, unknown>>;

/** Tells whether a value is an object with members. */
export function isObject(value: unknown): value is Unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads a member of an object; undefined when there is none. */
export function member(value: unknown, key: string): unknown {
  return isObject(value) ? value[key] : undefined;
}

/** Takes a value as a list; empty when it is none. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Takes a value as text; empty when it is none. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
