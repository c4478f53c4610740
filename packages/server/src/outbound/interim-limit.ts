import { Code, DevtoolError } from "../errors.ts";

/**
 * Maximum number of interim responses (HTTP 1xx) before a response. Servers
 * send one or two.
 */
const MAX_INTERIM = 16;

/** Counts the interim responses to one request. */
export interface InterimLimit {
  /** Aborts when there are too many. */
  readonly signal: AbortSignal;
  /** Counts one. */
  readonly onInfo: () => void;
}

/**
 * Limits the interim responses of a host, such as early hints. Limits on the
 * size of bodies do not count them.
 */
export function interimLimit(host: string): InterimLimit {
  const tooMany = new AbortController();
  let count = 0;
  return {
    signal: tooMany.signal,
    onInfo: () => {
      if (++count <= MAX_INTERIM) return;
      const problem = `host ${JSON.stringify(host)} sends more than ${MAX_INTERIM} interim responses: limit is ${MAX_INTERIM}`;
      tooMany.abort(
        new DevtoolError(problem, Code.FailedPrecondition, {
          remedy: "use another host",
        }),
      );
    },
  };
}
