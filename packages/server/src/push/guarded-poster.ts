import { DevtoolError } from "../errors.ts";
import { guardedFetch } from "../outbound/guarded-fetch.ts";
import type { OutboundPolicy } from "../outbound/outbound-policy.ts";
import type { Notification, Poster, PostOutcome } from "./notification.ts";
import { claimsOf, headersOf } from "./post-headers.ts";
import { assertPushTarget } from "./push-target.ts";
import type { SigningKeys } from "./signing-keys.ts";

/** A post may take so long, answer included. */
const TIMEOUT_MS = 15_000;

/** So much of an answer is read, to be thrown away. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** What a poster needs. */
export interface GuardedPosterOptions {
  readonly policy: OutboundPolicy;
  readonly keys: SigningKeys;
  /** Names this server in tokens: where it listens. */
  readonly issuer: () => string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A post may take so long, in milliseconds. Default 15 seconds. */
  readonly timeoutMs?: number;
}

/** Posts over HTTP: to checked addresses only, following no redirect (PUSH-2). */
export function createGuardedPoster(options: GuardedPosterOptions): Poster {
  return {
    async post(notification, signal) {
      try {
        return outcomeOf(await postOnce(notification, options, signal));
      } catch (reason) {
        signal.throwIfAborted();
        return { case: "failed", reason: reason instanceof DevtoolError ? reason.message : "it could not be posted" };
      }
    },
  };
}

async function postOnce(
  notification: Notification,
  { policy, keys, issuer, now, timeoutMs = TIMEOUT_MS }: GuardedPosterOptions,
  signal: AbortSignal,
): Promise<number> {
  const { url } = notification.config;
  assertPushTarget(url, policy);
  const nowMs = now();
  const token = await keys.sign(claimsOf(notification, issuer(), nowMs));
  const request = {
    url,
    method: "POST" as const,
    headers: headersOf(notification, { token, nowMs }),
    body: notification.body,
    maxRedirects: 0,
    maxBytes: MAX_ANSWER_BYTES,
    timeoutMs,
  };
  return (await guardedFetch(request, policy, signal)).status;
}

function outcomeOf(status: number): PostOutcome {
  if (status >= 200 && status < 300) return { case: "delivered" };
  if (status === 410) return { case: "gone", reason: "it answered 410" };
  return { case: "failed", reason: `it answered ${status}` };
}
