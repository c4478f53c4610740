import type { Observer } from "@devtool/server";

/**
 * Returns an observer that tells two others what it hears: first the one that
 * may trace it, then the other one, with the place in a trace that it has now.
 *
 * @param tracing undefined for none
 */
export function bothObservers(
  other: Observer,
  tracing: Observer | undefined,
): Observer {
  if (!tracing) return other;
  const kinds =
    other.kinds && tracing.kinds && other.kinds.union(tracing.kinds);
  const observer: Observer = (operation) => {
    const traced = tracing(operation);
    if (!traced) return other(operation);
    if (other.kinds?.has(operation.kind) === false) return traced;
    const { traceContext } = traced;
    const heard = other(
      traceContext ? { ...operation, traceContext } : operation,
    );
    if (!heard) return traced;
    return Object.assign(
      (end: Parameters<typeof heard>[0]) => {
        // What counts the operation hears of its end, whatever a span holds.
        try {
          traced(end);
        } finally {
          heard(end);
        }
      },
      { traceContext },
    );
  };
  return Object.assign(observer, { kinds });
}
