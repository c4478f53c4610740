import type { SQLInputValue } from "node:sqlite";

/** The conditions of a query that are asked for, with their values. */
export class Filters {
  readonly values: SQLInputValue[] = [];
  readonly #conditions: string[] = [];

  add(condition: string, ...values: readonly (SQLInputValue | undefined)[]): this {
    const given = values.filter((value) => value !== undefined);
    if (given.length < values.length) return this;
    this.#conditions.push(condition);
    this.values.push(...given);
    return this;
  }

  get where(): string {
    return this.#conditions.length > 0 ? `WHERE ${this.#conditions.join(" AND ")}` : "";
  }
}
