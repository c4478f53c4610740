import { type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { isObject } from "@devtool/internal/json";
import { assertPromptKeys } from "../suites/prompts.ts";

/**
 * The values of the placeholders `${name}` of a case. Steps add more while the
 * case is played.
 */
export class Variables {
  readonly #values: Map<string, string>;

  constructor(values: Readonly<Record<string, string>>) {
    this.#values = new Map(Object.entries(values));
  }

  set(name: string, value: string): void {
    this.#values.set(name, value);
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /**
   * Returns a copy of a value with each placeholder in its strings and keys
   * replaced. Throws for a name without a value.
   */
  fill(value: JsonValue): JsonValue {
    if (typeof value === "string") return this.fillText(value);
    if (Array.isArray(value)) return value.map((item) => this.fill(item));
    if (!isObject(value)) return value;
    const entries = Object.entries(value).map(([key, item]) => [
      this.fillText(key),
      this.fill(item),
    ]);
    return Object.fromEntries(entries);
  }

  /**
   * Replaces each placeholder of a text. `${uuid}` is a new UUID each time.
   * Throws for a name without a value.
   */
  fillText(text: string): string {
    return text.replaceAll(/\$\{([^}]+)\}/g, (_match, name: string) => {
      const value =
        name === "uuid" ? crypto.randomUUID() : this.#values.get(name);
      if (value === undefined) {
        throw new Error(
          `no value for \${${name}}: an earlier step did not set it`,
        );
      }
      return value;
    });
  }

  /**
   * Replaces each placeholder of the values of a record, for instance of
   * headers.
   */
  fillValues(record: Readonly<Record<string, string>>): Record<string, string> {
    return Object.fromEntries(
      Object.entries(record).map(([name, value]) => [
        name,
        this.fillText(value),
      ]),
    );
  }

  /**
   * Converts the value of a case to JSON and replaces its placeholders.
   */
  fillValue(value: Value | undefined): JsonValue {
    return this.fill(valueToJson(value));
  }
}

/**
 * Names the prompts by which an agent is made to behave as a case needs:
 * `${prompt:says}`. Throws for a key that no case has.
 */
export function promptVariables(
  prompts: Readonly<Record<string, string>>,
): Record<string, string> {
  assertPromptKeys(prompts);
  return Object.fromEntries(
    Object.entries(prompts).map(([name, text]) => [`prompt:${name}`, text]),
  );
}

/**
 * Converts a `google.protobuf.Value` to JSON. An absent one becomes an empty
 * object.
 */
export function valueToJson(value: Value | undefined): JsonValue {
  return value ? toJson(ValueSchema, value) : {};
}
