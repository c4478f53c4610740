import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, objectOrEmpty } from "@devtool/internal/json";

/** A value that a field of a form offers. */
export interface FormChoice {
  readonly value: string;
  /** The value in words; the value itself if the agent gives none. */
  readonly title: string;
}

/**
 * Returns the values that a field offers: of a text, or of the items of a list.
 * Empty for a field that takes any value.
 */
export function choicesOf(field: JsonObject): FormChoice[] {
  const choices = offersOf(field).flatMap((offer) => choiceFrom(offer) ?? []);
  // An answer is a value: one with several titles has all of them.
  return [...Map.groupBy(choices, ({ value }) => value)].map(
    ([value, same]) => {
      const titles = new Set(same.map(({ title }) => title));
      titles.delete(value);
      return { value, title: [...titles].join(" / ") || value };
    },
  );
}

/** Returns what a field says that it offers, which may be anything. */
function offersOf(field: JsonObject): JsonValue[] {
  const owner = field.type === "array" ? objectOrEmpty(field.items) : field;
  return [owner.enum ?? [], owner.oneOf ?? [], owner.anyOf ?? []].flat();
}

function choiceFrom(offer: JsonValue): FormChoice | undefined {
  const value = isObject(offer) ? offer.const : offer;
  if (typeof value !== "string" || !value.isWellFormed()) return undefined;
  return { value, title: wordsOf(objectOrEmpty(offer).title) || value };
}

/** Returns what an agent calls something, which may be anything. */
export function wordsOf(value: unknown): string {
  if (typeof value === "string") return value;
  return (value ?? null) === null ? "" : JSON.stringify(value);
}

/**
 * Returns what a field asks for, in words: its title and type, the values that
 * it offers, its limits and its default.
 */
export function describeField(field: JsonObject): string {
  const { title, description, type, format, items, pattern } = field;
  const words = [title, description, type, format]
    .map(wordsOf)
    .filter((word) => word !== "");
  const choices = choicesOf(field).map(({ value, title: name }) =>
    name === value ? value : `${value} (${name})`,
  );
  const each = wordsOf(items);
  if (each !== "" && choices.length === 0) words.push(`each ${each}`);
  if (choices.length > 0) {
    words.push(`${type === "array" ? "any" : "one"} of ${choices.join(" | ")}`);
  }
  const odd = offersOf(field).filter((offer) => !choiceFrom(offer));
  if (odd.length > 0) {
    words.push(`without ${odd.map(wordsOf).join(" | ")}, which is no choice`);
  }
  for (const [name, value] of [
    ...LIMITS.map(([limit, name]) => [name, field[limit]] as const),
    ["matching", pattern] as const,
    ["default", field.default] as const,
  ]) {
    const said = wordsOf(value);
    if (said !== "") words.push(`${name} ${said}`);
  }
  return words.join(", ") || wordsOf(field);
}

/**
 * Returns the value of a form with one field, from what the user wrote. A list
 * may be written with commas.
 */
export function fieldValue(
  { type }: JsonObject,
  text: string,
  json: JsonValue | undefined,
): JsonValue {
  if (type === "string") return text;
  if (type === "array" && !Array.isArray(json)) {
    return text.split(",").map((item) => item.trim());
  }
  return json ?? text;
}

const LIMITS: readonly (readonly [field: string, name: string])[] = [
  ["minLength", "minimum length"],
  ["maxLength", "maximum length"],
  ["minimum", "at least"],
  ["maximum", "at most"],
  ["minItems", "minimum number"],
  ["maxItems", "maximum number"],
];
