interface Arrival<T> {
  readonly source: AsyncIterator<T>;
  readonly result: IteratorResult<T>;
}

/**
 * Runs sources side by side and yields, each time, all the values that are ready. A source goes on only after the
 * consumer came back for more, so what it yielded is dealt with before it does its next thing. The first error ends all.
 */
export async function* mergeReady<T>(sources: readonly AsyncIterable<T>[]): AsyncIterable<readonly T[]> {
  const arrivals = new Arrivals<T>();
  const iterators = sources.map((source) => source[Symbol.asyncIterator]());
  for (const iterator of iterators) arrivals.pull(iterator);
  try {
    while (arrivals.expected > 0) {
      const ready = (await arrivals.take()).filter(({ result }) => !result.done);
      if (ready.length > 0) yield ready.map(({ result }) => result.value);
      for (const { source } of ready) arrivals.pull(source);
    }
  } finally {
    await Promise.allSettled(iterators.map((iterator) => iterator.return?.()));
  }
}

/** Collects what iterators give until somebody takes it. */
class Arrivals<T> {
  expected = 0;
  #ready: Arrival<T>[] = [];
  #failure: { readonly reason: unknown } | undefined;
  #wake = Promise.withResolvers<void>();

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
