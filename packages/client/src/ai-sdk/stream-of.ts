/**
 * Returns a stream of what a generator yields. Browsers have no `ReadableStream.from`.
 *
 * The signal that the generator gets aborts when `signal` does, and when the reader of the stream leaves.
 */
export function streamOf<T>(
  generate: (signal: AbortSignal) => AsyncGenerator<T>,
  signal: AbortSignal | undefined,
): ReadableStream<T> {
  const left = new AbortController();
  const items = generate(signal ? AbortSignal.any([signal, left.signal]) : left.signal);
  return new ReadableStream<T>({
    async pull(controller) {
      const { done, value } = await items.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => left.abort(reason),
  });
}
