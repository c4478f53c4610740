import { defined } from "@devtool/internal/json";
import {
  base64url,
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import type { SeenEvents } from "./seen-events.ts";

/**
 * Maximum age of a notification, and maximum difference between the two clocks,
 * in seconds.
 */
const TOLERANCE_S = 300;

/**
 * Looks up the public keys of a server. Created by `notificationKeys`.
 */
export type NotificationKeys = JWTVerifyGetKey;

/**
 * An incoming request, before it is verified.
 */
export interface NotificationRequest {
  /**
   * The headers, as `fetch` or Node provide them.
   */
  readonly headers:
    | Headers
    | Readonly<Record<string, string | readonly string[] | undefined>>;
  /**
   * The body exactly as received, before any parsing: the signature covers its
   * bytes.
   */
  readonly body: string | Uint8Array;
}

/**
 * Options of `verifyNotification`.
 */
export interface VerifyOptions {
  /**
   * The keys of the server. Create them once with `notificationKeys`.
   */
  readonly keys: NotificationKeys;
  /**
   * The URL that the push config names. A notification signed for another URL
   * is rejected.
   */
  readonly audience: string;
  /**
   * The server, as the `iss` claim of its signatures names it.
   *
   * Default: any server whose key matches.
   */
  readonly issuer?: string;
  /**
   * The token of the push config.
   *
   * Default: not checked.
   */
  readonly token?: string;
  /**
   * Returns the current time in milliseconds since 1970, for instance
   * `Date.now`.
   */
  readonly now: () => number;
  /**
   * The notifications received so far. Share one instance among all requests.
   */
  readonly seen: SeenEvents;
}

/**
 * A verified notification: signed by the server, for this receiver, unchanged
 * and recent.
 */
export interface Notification {
  /**
   * The id of the event. A retry has the same id.
   */
  readonly eventId: string;
  readonly taskId: string;
  /**
   * The position of the event in the task's log, from 1.
   */
  readonly sequence: bigint;
  /**
   * The body as text. `notificationEvent` reads it.
   */
  readonly body: string;
  /**
   * Whether this event was accepted before. Answer with success and do nothing.
   */
  readonly isDuplicate: boolean;
  /**
   * Undoes the acceptance of an event that could not be processed, so that the
   * server's retry is not taken for a duplicate. Call it before answering with
   * an error. Does nothing for a duplicate.
   */
  forget(): void;
}

/**
 * Thrown for a notification that must not be trusted. Answer with HTTP 401 and
 * do nothing.
 */
export class NotificationError extends Error {
  override readonly name = "NotificationError";
}

/**
 * Creates the key lookup for `verifyNotification`, from a key set or from the
 * URL of one. A remote key set is fetched when a key is first needed, and then
 * cached for ten minutes. A signature with an unknown key fetches it again, but
 * not within 30 seconds of the last time.
 *
 * ```ts
 * const keys = notificationKeys(new URL("/.well-known/jwks.json", serverUrl));
 * ```
 *
 * `fetch` makes the request; default: the global `fetch`.
 */
export function notificationKeys(
  source: URL | JSONWebKeySet,
  {
    fetch = globalThis.fetch,
  }: { readonly fetch?: typeof globalThis.fetch } = {},
): NotificationKeys {
  if (!(source instanceof URL)) return createLocalJWKSet(source);
  return createRemoteJWKSet(source, {
    [customFetch]: (url, options) => fetch(url, options),
  });
}

/**
 * Verifies a push notification: its signer, receiver, age and body, and whether
 * it is a duplicate (S8). The time at which it was signed must be within 300
 * seconds of `options.now`.
 *
 * ```ts
 * const options = { keys, audience: "https://me.example/hook", now: Date.now, seen: new SeenEvents() };
 * const { body, isDuplicate } = await verifyNotification({ headers, body: bytes }, options);
 * ```
 *
 * Throws a `NotificationError` if the notification must not be trusted, and
 * another error if the keys could not be fetched.
 */
export async function verifyNotification(
  request: NotificationRequest,
  options: VerifyOptions,
): Promise<Notification> {
  const { seen, token, now } = options;
  const bytes =
    typeof request.body === "string"
      ? new TextEncoder().encode(request.body)
      : request.body;
  if (token !== undefined) {
    assertToken(readHeader(request, "x-a2a-notification-token"), token);
  }
  const claims = await verifySignature(
    readHeader(request, "devtool-signature"),
    options,
  );
  const ageS = now() / 1000 - (claims.iat ?? 0);
  if (Math.abs(ageS) > TOLERANCE_S) {
    throw new NotificationError(
      `the notification is ${Math.round(ageS)} seconds old: limit is ${TOLERANCE_S}`,
    );
  }
  const { taskId, seq, jti: eventId } = claims;
  const isEvent =
    typeof taskId === "string" &&
    typeof seq === "string" &&
    /^[1-9]\d{0,18}$/.test(seq);
  if (!isEvent || eventId === undefined) {
    throw new NotificationError("the signature does not name an event");
  }
  const sequence = BigInt(seq);
  const digest = await crypto.subtle.digest("SHA-256", Uint8Array.from(bytes));
  if (claims.bodySha256 !== base64url.encode(new Uint8Array(digest))) {
    throw new NotificationError("the body is not what was signed");
  }
  const announced = readHeader(request, "devtool-event-id");
  if (announced !== "" && announced !== eventId) {
    throw new NotificationError("the event id is not what was signed");
  }
  const source = JSON.stringify([claims.iss, taskId]);
  const isDuplicate = !seen.note(source, sequence);
  const forget = (): void => {
    if (!isDuplicate) seen.forget(source, sequence);
  };
  return {
    eventId,
    taskId,
    sequence,
    body: new TextDecoder().decode(bytes),
    isDuplicate,
    forget,
  };
}

async function verifySignature(
  jws: string,
  { keys, audience, issuer, now }: VerifyOptions,
): Promise<JWTPayload> {
  if (jws === "") {
    throw new NotificationError("the header Devtool-Signature is missing");
  }
  // Base64 can spell one signature in several ways: the last character has
  // unused bits, which must be 0.
  if (!/^[\w-]+\.[\w-]+\.[\w-]{85}[AQgw]$/.test(jws)) {
    throw new NotificationError("the signature is not in canonical form");
  }
  try {
    const { payload } = await jwtVerify(
      jws,
      keys,
      defined({
        algorithms: ["ES256"],
        audience,
        clockTolerance: TOLERANCE_S,
        currentDate: new Date(now()),
        requiredClaims: [
          "iss",
          "aud",
          "iat",
          "exp",
          "jti",
          "taskId",
          "seq",
          "bodySha256",
        ],
        issuer,
      }),
    );
    return payload;
  } catch (reason) {
    if (!(reason instanceof errors.JOSEError)) throw reason;
    // If the keys could not be fetched, nothing is known about the
    // notification.
    if (
      reason instanceof errors.JWKSTimeout ||
      reason.code === "ERR_JOSE_GENERIC"
    ) {
      throw reason;
    }
    throw new NotificationError(
      `the signature is not valid: ${reason.message}`,
      { cause: reason },
    );
  }
}

/**
 * Compares in constant time, so that the time taken does not reveal where the
 * tokens differ.
 */
function assertToken(actual: string, expected: string): void {
  let difference = actual.length ^ expected.length;
  for (let index = 0; index < expected.length; index++) {
    difference |= expected.charCodeAt(index) ^ actual.charCodeAt(index);
  }
  if (difference !== 0) {
    throw new NotificationError("the token is not that of the push config");
  }
}

function readHeader({ headers }: NotificationRequest, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? "";
  const value = headers[name];
  return typeof value === "string" ? value : "";
}
