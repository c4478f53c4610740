import { DevtoolError } from "../errors.ts";
import type { SigningKeys } from "../keys/signing-keys.ts";
import {
  guardedFetch,
  type OutboundRequest,
} from "../outbound/guarded-fetch.ts";
import type { OutboundPolicy } from "../outbound/outbound-policy.ts";
import type { Poster } from "./notification.ts";
import { claimsOf, headersOf } from "./post-headers.ts";
import { assertPushTarget } from "./push-target.ts";

/** The default timeout of a post in milliseconds, including its response. */
const TIMEOUT_MS = 15_000;

/**
 * The maximum number of bytes to read of a response, which are then ignored.
 */
const MAX_RESPONSE_BYTES = 64 * 1024;

interface GuardedPosterOptions {
  readonly policy: OutboundPolicy;
  readonly keys: SigningKeys;
  /**
   * Identifies this server in signed tokens: the URL at which clients reach it.
   */
  readonly issuer: string;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
  /**
   * The timeout of a post in milliseconds, including its response. Default 15
   * seconds.
   */
  readonly timeoutMs?: number | undefined;
}

/**
 * Creates a poster that sends over HTTP, only to checked addresses, and follows
 * no redirect (PUSH-2).
 */
export function createGuardedPoster({
  policy,
  keys,
  issuer,
  now,
  timeoutMs = TIMEOUT_MS,
}: GuardedPosterOptions): Poster {
  return {
    async post(notification, signal) {
      try {
        const { url } = notification.config;
        assertPushTarget(url, policy);
        const nowMs = now();
        const token = await keys.sign(claimsOf(notification, issuer, nowMs));
        const request: OutboundRequest = {
          url,
          method: "POST",
          headers: headersOf(notification, { token, nowMs }),
          body: notification.body,
          maxRedirects: 0,
          maxBytes: MAX_RESPONSE_BYTES,
          timeoutMs,
        };
        const { status, retryAfterMs } = await guardedFetch(
          request,
          policy,
          signal,
        );
        if (status >= 200 && status < 300) return { case: "delivered" };
        if (status === 410) return { case: "gone", reason: "it answered 410" };
        const reason = `it answered ${status}`;
        return { case: "failed", reason, retryAfterMs };
      } catch (reason) {
        signal.throwIfAborted();
        return {
          case: "failed",
          reason:
            reason instanceof DevtoolError
              ? reason.message
              : "it could not be posted",
        };
      }
    },
  };
}
