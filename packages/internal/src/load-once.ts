/**
 * Returns a function that loads something when it is first called, and keeps
 * it. A load that failed is tried again by the next call.
 */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    loaded ??= load().catch((reason: unknown) => {
      loaded = undefined;
      throw reason;
    });
    return loaded;
  };
}
