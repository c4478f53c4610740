import type { Semaphore } from "@devtool/internal/semaphore";
import type { CircuitBreaker, Permit } from "./circuit-breaker.ts";
import type { Clock } from "./clock.ts";

/**
 * The limits that a post has to pass: that of its host, and that of all hosts
 * together.
 */
export interface PostLimits {
  readonly breaker: CircuitBreaker;
  readonly semaphore: Semaphore;
  readonly clock: Clock;
}

/**
 * Returns a permit for the host and among all hosts, if both are available now.
 */
export function tryAcquirePermit(
  breaker: CircuitBreaker,
  semaphore: Semaphore,
): Permit | undefined {
  const permit = breaker.tryAcquire();
  const turn = permit && semaphore.tryAcquire();
  if (turn) return permitWithTurn(permit, turn);
  permit?.release(undefined);
  return undefined;
}

/**
 * Waits for a permit for the host and among all hosts.
 *
 * Undefined when none is available within `maxWaitMs` milliseconds. Throws when
 * `signal` aborts.
 */
export async function acquirePermit(
  { breaker, semaphore, clock }: PostLimits,
  maxWaitMs: number,
  signal: AbortSignal,
): Promise<Permit | undefined> {
  const over = new AbortController();
  const waiting = AbortSignal.any([signal, over.signal]);
  const deadline = clock.sleep(maxWaitMs, waiting).then(
    () => over.abort(),
    () => undefined,
  );
  try {
    const permit = await breaker.acquire(waiting);
    const turn = await semaphore.acquire(waiting).catch((reason: unknown) => {
      permit.release(undefined);
      throw reason;
    });
    return permitWithTurn(permit, turn);
  } catch {
    signal.throwIfAborted();
    return undefined;
  } finally {
    over.abort();
    await deadline;
  }
}

/**
 * Combines a permit for a host with a turn among all hosts: releasing it ends
 * both.
 */
function permitWithTurn(permit: Permit, turn: Disposable): Permit {
  return {
    release: (outcome) => {
      turn[Symbol.dispose]();
      permit.release(outcome);
    },
  };
}
