/**
 * Caches a list of a server until the server says that the list has changed.
 */
export class ListCache<T> {
  #items: readonly T[] | undefined;
  #changes = 0;

  /** Returns the cached list, or loads it from the server. */
  async get(load: () => Promise<readonly T[]>): Promise<readonly T[]> {
    if (this.#items) return this.#items;
    const changes = this.#changes;
    const items = await load();
    // If the list changed while it was being loaded, the result may be
    // outdated.
    if (changes === this.#changes) this.#items = items;
    return items;
  }

  /** Drops the list. It is loaded again when it is next needed. */
  invalidate(): void {
    this.#changes++;
    this.#items = undefined;
  }
}
