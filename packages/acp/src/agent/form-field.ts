import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/schema/json";

/** A value that a field of a form offers. */
export interface Choice {
  readonly value: string;
  /** The value in words; the value itself if the agent gives none. */
  readonly title: string;
}

/**
 * Returns the values that a field offers: of a text, or of the items of a list.
 * Empty for a field that takes any value.
 */
export function choicesOf(field: JsonObject): Choice[] {
  const owner = field.type === "array" ? objectOrEmpty(field.items) : field;
  const plain = listOrEmpty(owner.enum).flatMap((value) =>
    typeof value === "string" ? [{ value, title: value }] : [],
  );
  const titled = [...listOrEmpty(owner.oneOf), ...listOrEmpty(owner.anyOf)]
    .filter(isObject)
    .flatMap((option) => {
      const value = option.const;
      return typeof value === "string"
        ? [{ value, title: stringOrEmpty(option.title) || value }]
        : [];
    });
  return [...plain, ...titled];
}

/**
 * Returns what a field asks for, in words: its title and type, the values that
 * it offers, its limits and its default.
 */
export function describeField(field: JsonObject): string {
  const { title, description, type, format, pattern, default: preset } = field;
  const words = [title, description, type, format]
    .map(stringOrEmpty)
    .filter((word) => word !== "");
  const choices = choicesOf(field).map(({ value, title: name }) =>
    name === value ? value : `${value} (${name})`,
  );
  if (choices.length > 0) {
    words.push(`${type === "array" ? "any" : "one"} of ${choices.join(" | ")}`);
  }
  for (const [limit, name] of LIMITS) {
    const value = field[limit];
    if (typeof value === "number") words.push(`${name} ${value}`);
  }
  if (typeof pattern === "string") words.push(`matching ${pattern}`);
  if (preset !== undefined && preset !== null) {
    words.push(
      `default ${typeof preset === "string" ? preset : JSON.stringify(preset)}`,
    );
  }
  return words.join(", ");
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
