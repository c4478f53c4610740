import type { JsonValue } from "@bufbuild/protobuf";

/**
 * Returns why an argument could not be kept as it is; undefined when it can: for
 * the first number that is infinite, or an integer beyond 2^53, and for the
 * first text with half a surrogate pair.
 */
export function findUnkeptValue(
  value: JsonValue,
  path = "",
): string | undefined {
  const argument = `argument ${JSON.stringify(path)}`;
  if (typeof value === "number") {
    const isKept = Number.isSafeInteger(value) || !Number.isInteger(value);
    return isKept && Number.isFinite(value)
      ? undefined
      : `${argument} is a number with more digits than can be kept: send up to 15 digits, or a string`;
  }
  if (typeof value === "string") {
    return value.isWellFormed()
      ? undefined
      : `${argument} has half a character (a lone surrogate): send it whole`;
  }
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, below] of Object.entries(value)) {
    const found =
      findUnkeptValue(key, path) ??
      findUnkeptValue(below, path === "" ? key : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
