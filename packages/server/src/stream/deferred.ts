/** A source that is opened when its first value is asked for; what it yields passes without another step in between. */
export function deferred<T>(open: () => Promise<AsyncIterable<T>>): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => new DeferredIterator(open) };
}

class DeferredIterator<T> implements AsyncIterator<T> {
  readonly #open: () => Promise<AsyncIterable<T>>;
  #opening: Promise<AsyncIterator<T>> | undefined;
  #opened: AsyncIterator<T> | undefined;

  constructor(open: () => Promise<AsyncIterable<T>>) {
    this.#open = open;
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#opened) return this.#opened.next();
    this.#opening ??= this.#start();
    return this.#opening.then((source) => source.next());
  }

  async return(): Promise<IteratorResult<T>> {
    const source = await this.#opening;
    return (await source?.return?.()) ?? { done: true, value: undefined };
  }

  async #start(): Promise<AsyncIterator<T>> {
    this.#opened = (await this.#open())[Symbol.asyncIterator]();
    return this.#opened;
  }
}
