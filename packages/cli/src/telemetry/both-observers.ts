import type { Observer } from "@devtool/server";

/**
 * Returns an observer that tells two others what it hears. What the second one
 * says about traces counts.
 *
 * @param second undefined for none
 */
export function bothObservers(
  first: Observer,
  second: Observer | undefined,
): Observer {
  if (!second) return first;
  return (operation) => {
    const ends = [first(operation), second(operation)];
    const [, traced] = ends;
    return Object.assign(
      (end: Parameters<NonNullable<typeof traced>>[0]) => {
        for (const tell of ends) tell?.(end);
      },
      { traceContext: traced?.traceContext },
    );
  };
}
