import type { SQLInputValue } from "node:sqlite";

/** Collects the conditions of an SQL query that apply, with their values. */
export class Filters {
  readonly values: SQLInputValue[] = [];
  readonly #conditions: string[] = [];

  /** Adds a condition, unless one of its values is undefined. */
  add(condition: string, ...values: readonly (SQLInputValue | undefined)[]): this {
    const given = values.filter((value) => value !== undefined);
    if (given.length < values.length) return this;
    this.#conditions.push(condition);
    this.values.push(...given);
    return this;
  }

  /** The WHERE clause; empty without conditions. */
  get where(): string {
    return this.#conditions.length > 0 ? `WHERE ${this.#conditions.join(" AND ")}` : "";
  }
}
