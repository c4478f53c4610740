import { createHash, createHmac } from "node:crypto";
import type { PushAuthentication, PushConfig } from "@devtool/schema";
import type { JWTPayload } from "jose";
import { eventIdOf, type Notification } from "./notification.ts";

/** A signed token counts for so many seconds: as long as the receivers' clocks may differ. */
const TOKEN_LIFETIME_S = 300;

/** The scheme with which a config asks for the headers of Standard Webhooks. */
export const STANDARD_WEBHOOKS = "standardwebhooks";

/** What a server says of one post. */
export interface Signed {
  /** The token over `claimsOf`. */
  readonly token: string;
  /** When it was made, in milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * What the token of a post says: A2A's claims (0.3, section 9.5.3), and what makes it fit this body and no other. `jti` is
 * the event's id, the same in each try.
 */
export function claimsOf(notification: Notification, issuer: string, nowMs: number): JWTPayload {
  const iat = Math.floor(nowMs / 1000);
  return {
    iss: issuer,
    aud: notification.config.url,
    iat,
    exp: iat + TOKEN_LIFETIME_S,
    jti: eventIdOf(notification),
    taskId: notification.taskId,
    seq: String(notification.sequence),
    bodySha256: createHash("sha256").update(notification.body).digest("base64url"),
  };
}

/** The headers of a post. */
export function headersOf(notification: Notification, { token, nowMs }: Signed): Record<string, string> {
  const { config, contentType } = notification;
  return {
    "content-type": contentType,
    "user-agent": "devtool",
    "devtool-event-id": eventIdOf(notification),
    "devtool-signature": token,
    ...(config.token !== "" && { "x-a2a-notification-token": config.token }),
    ...authorizationOf(config, token),
    ...webhookHeaders(notification, nowMs),
  };
}

/** What the config asks for; a bearer without credentials is our own token, as A2A describes it. */
function authorizationOf({ authentication }: PushConfig, token: string): Record<string, string> {
  if (!authentication || isStandardWebhooks(authentication)) return {};
  const { scheme, credentials } = authentication;
  if (credentials !== "") return { authorization: `${scheme} ${encodedCredentials(authentication)}` };
  return scheme.toLowerCase() === "bearer" ? { authorization: `Bearer ${token}` } : {};
}

/** `Basic` wants base64; who sends `user:password` means that. */
function encodedCredentials({ scheme, credentials }: PushAuthentication): string {
  if (scheme.toLowerCase() !== "basic" || !credentials.includes(":")) return credentials;
  return Buffer.from(credentials).toString("base64");
}

function webhookHeaders(notification: Notification, nowMs: number): Record<string, string> {
  const { authentication } = notification.config;
  if (!authentication || !isStandardWebhooks(authentication)) return {};
  const id = eventIdOf(notification);
  const timestamp = String(Math.floor(nowMs / 1000));
  const content = `${id}.${timestamp}.${notification.body}`;
  const signature = createHmac("sha256", webhookSecret(authentication)).update(content).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}

/** Tells whether posts are signed as Standard Webhooks. */
export function isStandardWebhooks({ scheme }: PushAuthentication): boolean {
  return scheme.toLowerCase() === STANDARD_WEBHOOKS;
}

/** The secret of Standard Webhooks as bytes; empty when it is none. */
export function webhookSecret({ credentials }: PushAuthentication): Buffer {
  const base64 = credentials.replace(/^whsec_/, "");
  return /^[A-Za-z0-9+/]+={0,2}$/.test(base64) ? Buffer.from(base64, "base64") : Buffer.alloc(0);
}
