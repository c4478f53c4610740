/** The object that a text is as JSON; empty for anything else. */
export function jsonIn(text: string): Readonly<Record<string, unknown>> {
  return objectOf(jsonOf(text));
}

/** Returns a text parsed as JSON; undefined when it is not valid JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A value as an object; empty for anything else. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? Object.fromEntries(Object.entries(value)) : {};
}

/** Tells objects from all else. */
function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
