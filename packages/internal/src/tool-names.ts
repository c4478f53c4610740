/**
 * The names of tools in an API that allows only letters, digits, `_` and `-`.
 */
export class ToolNames {
  readonly #encoded = new Map<string, string>();
  readonly #decoded = new Map<string, string>();
  readonly #maxLength: number;

  /**
   * Other characters become `_`, and names are cut after `maxLength`. When two
   * names become the same, the later one gets a number: `_2`.
   */
  constructor(tools: readonly { readonly name: string }[], maxLength: number) {
    this.#maxLength = maxLength;
    for (const { name } of tools) {
      const plain = this.#clean(name);
      let encoded = plain;
      for (let copy = 2; this.#decoded.has(encoded); copy++) {
        encoded = `${plain.slice(0, maxLength - 4)}_${copy}`;
      }
      this.#encoded.set(name, encoded);
      this.#decoded.set(encoded, name);
    }
  }

  /**
   * Returns the name of a tool in the API. A tool that is not declared, as in
   * an old call, has a name as well.
   */
  encode(name: string): string {
    return this.#encoded.get(name) ?? this.#clean(name);
  }

  /**
   * Returns the declared name for a name in the API; the same name if no tool
   * has it.
   */
  decode(encoded: string): string {
    return this.#decoded.get(encoded) ?? encoded;
  }

  #clean(name: string): string {
    return (
      name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, this.#maxLength) || "_"
    );
  }
}
