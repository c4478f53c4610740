import {
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

/** Clocks may differ by so many seconds, and a notification may be so old. */
const TOLERANCE_S = 300;

/** Finds the public keys of a server. */
export type NotificationKeys = JWTVerifyGetKey;

/** A post as it came in. */
export interface NotificationRequest {
  /** The headers, as `fetch` or Node gives them. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The bytes of the body as they came in, before any parsing. */
  readonly body: string | Uint8Array;
}

/** What a receiver expects. */
export interface VerifyOptions {
  /** The keys of the server: `notificationKeys(...)`, made once. */
  readonly keys: NotificationKeys;
  /** The URL that this receiver was registered with: what was signed for another is not for it. */
  readonly audience: string;
  /** The server, as its tokens name it; any whose keys fit when left out. */
  readonly issuer?: string;
  /** The token of the config; not looked at when left out. */
  readonly token?: string;
  /** The time, in milliseconds since 1970. */
  readonly now: () => number;
  /** What came before, kept over all requests. */
  readonly seen: SeenEvents;
}

/** A notification that is from the server, for this receiver, whole and recent. */
export interface Notification {
  /** The id of the event: the same each time it is posted. */
  readonly eventId: string;
  readonly taskId: string;
  readonly sequence: bigint;
  /** The body, as text. */
  readonly body: string;
  /** Whether it was taken before: answer with success, and do nothing. */
  readonly isDuplicate: boolean;
  /** Lets the server's next try count, when this one could not be dealt with. To be called before it is answered with an error. */
  forget(): void;
}

/** Says why a post is not taken. Answer with 401 or 400, and do nothing. */
export class NotificationError extends Error {
  override readonly name = "NotificationError";
}

/**
 * The keys of a server: those at its `/.well-known/jwks.json`, asked for when needed and kept, or those given. `fetch` asks
 * for them; default: the global one.
 */
export function notificationKeys(
  source: URL | JSONWebKeySet,
  { fetch = globalThis.fetch }: { readonly fetch?: typeof globalThis.fetch } = {},
): NotificationKeys {
  if (!(source instanceof URL)) return createLocalJWKSet(source);
  return createRemoteJWKSet(source, { [customFetch]: (url, options) => fetch(url, options) });
}

/**
 * Checks a notification: who signed it, for whom, when, over which body, and whether it came before (S8). Throws a
 * `NotificationError` for one that is not to be trusted; rejects with another error when the keys cannot be had.
 */
export async function verifyNotification(request: NotificationRequest, options: VerifyOptions): Promise<Notification> {
  const bytes = typeof request.body === "string" ? new TextEncoder().encode(request.body) : request.body;
  assertToken(headerOf(request, "x-a2a-notification-token"), options.token);
  const claims = await verifiedClaims(headerOf(request, "devtool-signature"), options);
  assertRecent(claims, options.now());
  const { taskId, sequence, eventId } = eventOf(claims);
  if (claims.bodySha256 !== (await digestOf(bytes))) throw new NotificationError("the body is not what was signed");
  const announced = headerOf(request, "devtool-event-id");
  if (announced !== "" && announced !== eventId) throw new NotificationError("the event id is not what was signed");
  const source = JSON.stringify([claims.iss, taskId]);
  const isDuplicate = !options.seen.note(source, sequence);
  const body = new TextDecoder().decode(bytes);
  const forget = (): void => {
    if (!isDuplicate) options.seen.forget(source, sequence);
  };
  return { eventId, taskId, sequence, body, isDuplicate, forget };
}

async function verifiedClaims(token: string, { keys, audience, issuer, now }: VerifyOptions): Promise<JWTPayload> {
  if (token === "") throw new NotificationError("the header Devtool-Signature is missing");
  assertPlain(token);
  try {
    const { payload } = await jwtVerify(token, keys, {
      algorithms: ["ES256"],
      audience,
      clockTolerance: TOLERANCE_S,
      currentDate: new Date(now()),
      requiredClaims: ["iss", "aud", "iat", "exp", "jti", "taskId", "seq", "bodySha256"],
      ...(issuer !== undefined && { issuer }),
    });
    return payload;
  } catch (reason) {
    if (!(reason instanceof errors.JOSEError) || isOutage(reason)) throw reason;
    throw new NotificationError(`the signature is not to be trusted: ${reason.message}`, { cause: reason });
  }
}

/** A token counts for as long to both sides, whatever its lifetime. */
function assertRecent({ iat = 0 }: JWTPayload, nowMs: number): void {
  const ageS = nowMs / 1000 - iat;
  if (Math.abs(ageS) <= TOLERANCE_S) return;
  throw new NotificationError(`the notification is ${Math.round(ageS)} seconds old: limit is ${TOLERANCE_S}`);
}

/** A signature has one spelling: the bits that base64 leaves over hold nothing. */
function assertPlain(token: string): void {
  if (!/^[\w-]+\.[\w-]+\.[\w-]{85}[AQgw]$/.test(token)) {
    throw new NotificationError("the signature is not written as it should be");
  }
}

/** Tells whether the keys could not be had, which says nothing of the notification. */
function isOutage(reason: errors.JOSEError): boolean {
  return reason instanceof errors.JWKSTimeout || reason.code === "ERR_JOSE_GENERIC";
}

function eventOf({ taskId, seq, jti }: JWTPayload): Pick<Notification, "taskId" | "sequence" | "eventId"> {
  if (typeof taskId !== "string" || typeof seq !== "string" || !/^[1-9]\d{0,18}$/.test(seq) || jti === undefined) {
    throw new NotificationError("the signature names no event");
  }
  return { taskId, sequence: BigInt(seq), eventId: jti };
}

async function digestOf(body: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", Uint8Array.from(body)));
  return btoa(String.fromCharCode(...digest))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
}

/** Compares in a time that tells nothing of where the two differ. */
function assertToken(got: string, wanted: string | undefined): void {
  if (wanted === undefined) return;
  let difference = got.length ^ wanted.length;
  for (let index = 0; index < wanted.length; index++) difference |= wanted.charCodeAt(index) ^ got.charCodeAt(index);
  if (difference !== 0) throw new NotificationError("the token is not the one of the config");
}

function headerOf({ headers }: NotificationRequest, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? "";
  const value = headers[name];
  return typeof value === "string" ? value : "";
}
