import { ConnectError } from "@connectrpc/connect";
import { callWithRetry } from "@devtool/client";
import { useEffect, useState } from "react";

/** A request about a session. */
export interface Asked<T> {
  /** The answer before, which the next one may add to. */
  readonly before: T | undefined;
  /** The sequence number of the last event of the session. */
  readonly head: bigint;
  readonly signal: AbortSignal;
}

/** The answer to a request, as far as it is there. */
export interface Answer<T> {
  readonly value: T | undefined;
  /** Why the last request had no answer. */
  readonly error: ConnectError | undefined;
}

interface Answered<T> extends Answer<T> {
  readonly ask: unknown;
  readonly head: bigint;
}

/**
 * Asks about a session, and again when it has new events, which may change the
 * answer. The answer before stays until the next one is there.
 *
 * One request at a time: a session that works can have events faster than its
 * server answers. A server that cannot be reached is asked until it answers.
 *
 * @param ask must be the same function as long as it asks for the same
 * @param head the sequence number of the last event of the session
 */
export function useAnswer<T>(
  ask: (asked: Asked<T>) => Promise<T>,
  head: bigint,
): Answer<T> {
  const [answered, setAnswered] = useState<Answered<T>>();
  const [lost, setLost] = useState<ConnectError>();
  const last = answered?.ask === ask ? answered : undefined;
  const isUpToDate = last?.head === head;
  // biome-ignore lint/correctness/useExhaustiveDependencies: events that come meanwhile are asked about after the answer
  useEffect(() => {
    if (isUpToDate) return;
    const mounted = new AbortController();
    const show = (answer: Answer<T>): void => {
      if (mounted.signal.aborted) return;
      setLost(undefined);
      setAnswered({ ...answer, ask, head });
    };
    const before = last?.value;
    callWithRetry(
      (signal) => ask({ before, head, signal }),
      { maxAttempts: Number.POSITIVE_INFINITY, onLost: setLost },
      mounted.signal,
    ).then(
      (value) => show({ value, error: undefined }),
      (reason: unknown) =>
        show({ value: before, error: ConnectError.from(reason) }),
    );
    return () => mounted.abort();
  }, [ask, last, isUpToDate]);
  return { value: last?.value, error: lost ?? last?.error };
}
