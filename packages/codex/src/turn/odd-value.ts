import type { JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";

/**
 * Returns a text that Codex sent, or the JSON of what stands in its place, so
 * that nothing is lost. Empty for null and for a text that is missing.
 */
export function wordsOf(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  return (value ?? undefined) === undefined ? "" : JSON.stringify(value);
}

/**
 * Returns the elements of a list that Codex sent, without null. What stands in
 * the place of a list is its only element.
 */
export function elementsOf(
  value: JsonValue | undefined,
): Exclude<JsonValue, null>[] {
  const elements: JsonValue[] = Array.isArray(value) ? value : [value ?? null];
  return elements.filter((element) => element !== null);
}

/**
 * Returns the text of an error: its message and its kind, or its JSON when it
 * has neither.
 */
export function errorText(error: JsonValue | undefined): string {
  if (!isObject(error)) return wordsOf(error);
  const { message, codexErrorInfo } = error;
  const kind = isObject(codexErrorInfo)
    ? (Object.keys(codexErrorInfo)[0] ?? "")
    : wordsOf(codexErrorInfo);
  if (kind === "" || kind === "other") return wordsOf(message ?? error);
  return `${wordsOf(message)} (${kind})`;
}
