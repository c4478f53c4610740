import type { JsonValue } from "@bufbuild/protobuf";

/** What names in a case stand for; it grows while the case is played. */
export class Variables {
  readonly #values: Map<string, string>;

  constructor(values: Readonly<Record<string, string>>) {
    this.#values = new Map(Object.entries(values));
  }

  set(name: string, value: string): void {
    this.#values.set(name, value);
  }

  /** Tells whether a name stands for something. */
  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** The value with each `${name}` in its strings and keys replaced. Throws for a name that nothing set. */
  fill(value: JsonValue): JsonValue {
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.fill(item));
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).map(([key, item]): [string, JsonValue] => [this.text(key), this.fill(item)]);
    return Object.fromEntries(entries);
  }

  /** The text with each `${name}` replaced. */
  text(text: string): string {
    return text.replaceAll(/\$\{([^}]+)\}/g, (_match, name: string) => this.#valueOf(name));
  }

  #valueOf(name: string): string {
    if (name === "uuid") return crypto.randomUUID();
    const value = this.#values.get(name);
    if (value === undefined) throw new Error(`no value for \${${name}}: an earlier step did not give it`);
    return value;
  }
}
