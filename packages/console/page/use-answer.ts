import { ConnectError } from "@connectrpc/connect";
import { useEffect, useState } from "react";

/** The answer to a request, as far as it is there. */
export interface Answer<T> {
  readonly value: T | undefined;
  /** Why there is none; empty if nothing is wrong. */
  readonly problem: string;
}

/**
 * Asks for something, again with each other `ask` or `head`. The answer before stays until the next one is there.
 *
 * @param ask must be the same function as long as it asks for the same
 * @param head the sequence number of the last event of the session: a new event may change the answer
 */
export function useAnswer<T>(ask: (signal: AbortSignal) => Promise<T>, head: bigint): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ value: undefined, problem: "" });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new event may change the answer
  useEffect(() => {
    const mounted = new AbortController();
    const show = (next: Answer<T>): void => {
      if (!mounted.signal.aborted) setAnswer(next);
    };
    ask(mounted.signal).then(
      (value) => show({ value, problem: "" }),
      (reason: unknown) => show({ value: undefined, problem: ConnectError.from(reason).rawMessage }),
    );
    return () => mounted.abort();
  }, [ask, head]);
  return answer;
}
