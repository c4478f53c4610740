import { createHash, createHmac } from "node:crypto";
import { defined } from "@devtool/internal/json";
import { traceFields } from "@devtool/internal/trace-parent";
import type { PushAuthentication } from "@devtool/schema";
import type { JWTPayload } from "jose";
import { eventIdOf, type Notification } from "./notification.ts";

/**
 * The lifetime of a signed token in seconds. Allows for differences between
 * clocks.
 */
const TOKEN_LIFETIME_S = 300;

/**
 * The authentication scheme of a config that requests the headers of Standard
 * Webhooks.
 */
const STANDARD_WEBHOOKS = "standardwebhooks";

/** The signature of one post. */
export interface Signed {
  /** The signed token with the claims of `claimsOf`. */
  readonly token: string;
  /** The time of the signature in milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * Returns the claims of the token for a post: those of A2A (0.3, section
 * 9.5.3), the task's id and the event's sequence, and the digest of the body.
 * `jti` is the event's id, the same in each attempt.
 */
export function claimsOf(
  notification: Notification,
  issuer: string,
  nowMs: number,
): JWTPayload {
  const iat = Math.floor(nowMs / 1000);
  return {
    iss: issuer,
    aud: notification.config.url,
    iat,
    exp: iat + TOKEN_LIFETIME_S,
    jti: eventIdOf(notification),
    taskId: notification.taskId,
    seq: String(notification.sequence),
    bodySha256: createHash("sha256")
      .update(notification.body)
      .digest("base64url"),
  };
}

/** Returns the headers of a post. */
export function headersOf(
  notification: Notification,
  signed: Signed,
): Record<string, string> {
  const { config, contentType, traceContext } = notification;
  const { token, authentication } = config;
  return defined({
    "content-type": contentType,
    "user-agent": "devtool",
    "devtool-event-id": eventIdOf(notification),
    "devtool-signature": signed.token,
    ...traceFields(traceContext),
    "x-a2a-notification-token": token || undefined,
    ...(authentication &&
      authenticationHeaders(authentication, notification, signed)),
  });
}

/**
 * Returns the headers that a config's authentication requests. Standard
 * Webhooks sign id, timestamp and body with an HMAC. The scheme `Bearer`
 * without credentials requests the server's own token, as A2A describes it.
 */
function authenticationHeaders(
  authentication: PushAuthentication,
  notification: Notification,
  { token, nowMs }: Signed,
): Record<string, string> {
  if (isStandardWebhooks(authentication)) {
    const id = eventIdOf(notification);
    const timestamp = String(Math.floor(nowMs / 1000));
    const content = `${id}.${timestamp}.${notification.body}`;
    const signature = createHmac("sha256", webhookSecret(authentication))
      .update(content)
      .digest("base64");
    return {
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${signature}`,
    };
  }
  const { scheme, credentials } = authentication;
  if (credentials === "") {
    return scheme.toLowerCase() === "bearer"
      ? { authorization: `Bearer ${token}` }
      : {};
  }
  // `Basic` requires base64. A client that sets `user:password` has not encoded
  // it.
  const isPlain = scheme.toLowerCase() === "basic" && credentials.includes(":");
  const encoded = isPlain
    ? Buffer.from(credentials).toString("base64")
    : credentials;
  return { authorization: `${scheme} ${encoded}` };
}

/** Whether a config requests posts that are signed as Standard Webhooks. */
export function isStandardWebhooks({ scheme }: PushAuthentication): boolean {
  return scheme.toLowerCase() === STANDARD_WEBHOOKS;
}

/**
 * Decodes the secret of Standard Webhooks: base64, with or without `whsec_`.
 * Empty when it is not valid.
 */
export function webhookSecret({ credentials }: PushAuthentication): Buffer {
  const base64 = credentials.replace(/^whsec_/, "");
  return /^[A-Za-z0-9+/]+={0,2}$/.test(base64)
    ? Buffer.from(base64, "base64")
    : Buffer.alloc(0);
}
