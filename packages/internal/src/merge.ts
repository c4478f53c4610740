/** A result of one of the merged iterators. */
interface Arrival<T> {
  readonly source: AsyncIterator<T>;
  readonly result: IteratorResult<T>;
}

/**
 * Merges async iterables. Each time it yields all values that are ready, at
 * most one per source.
 *
 * A source is resumed only when the consumer asks for the next values, so that
 * everything a source has yielded is handled before it continues. The first
 * error ends the merge, and the sources with it.
 */
export async function* mergeReady<T>(
  sources: readonly AsyncIterable<T>[],
): AsyncIterable<readonly T[]> {
  const arrivals = new Arrivals<T>();
  const iterators = sources.map((source) => source[Symbol.asyncIterator]());
  for (const iterator of iterators) arrivals.pull(iterator);
  try {
    while (arrivals.expected > 0) {
      const ready = (await arrivals.take()).filter(
        ({ result }) => !result.done,
      );
      if (ready.length > 0) yield ready.map(({ result }) => result.value);
      for (const { source } of ready) arrivals.pull(source);
    }
  } finally {
    await Promise.allSettled(iterators.map((iterator) => iterator.return?.()));
  }
}

/** Collects the results of iterators until they are taken. */
class Arrivals<T> {
  /** The number of results that were pulled and not taken yet. */
  expected = 0;
  #ready: Arrival<T>[] = [];
  #failure: { readonly reason: unknown } | undefined;
  #wake = Promise.withResolvers<void>();

  /** Requests the next result of an iterator. */
  pull(source: AsyncIterator<T>): void {
    this.expected++;
    source.next().then(
      (result) => {
        this.#ready.push({ source, result });
        this.#wake.resolve();
      },
      (reason: unknown) => {
        this.#failure ??= { reason };
        this.#wake.resolve();
      },
    );
  }

  /**
   * Waits for at least one result, and takes all that are ready. Throws the
   * first error of an iterator.
   */
  async take(): Promise<readonly Arrival<T>[]> {
    await this.#wake.promise;
    if (this.#failure) throw this.#failure.reason;
    const ready = this.#ready;
    this.#ready = [];
    this.#wake = Promise.withResolvers();
    this.expected -= ready.length;
    return ready;
  }
}
