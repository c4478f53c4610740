/** Keeps a list that a server gave until the server says that it changed. */
export class ListCache<T> {
  #items: readonly T[] | undefined;
  #changes = 0;

  /** The list; `load` asks the server when it is not there. */
  async get(load: () => Promise<readonly T[]>): Promise<readonly T[]> {
    if (this.#items) return this.#items;
    const changes = this.#changes;
    const items = await load();
    // What was on its way when the list changed may be the old one.
    if (changes === this.#changes) this.#items = items;
    return items;
  }

  /** Notes that the list changed; it is asked for again when somebody needs it. */
  forget(): void {
    this.#changes++;
    this.#items = undefined;
  }
}
