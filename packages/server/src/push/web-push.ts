import { createPublicKey, hash, type KeyObject } from "node:crypto";
import { create, toJsonString } from "@bufbuild/protobuf";
import { visibleText } from "@devtool/internal/visible-text";
import { type StoredWebPush, WebPushMessageSchema } from "@devtool/schema";
import { DevtoolError, invalid, withFieldNames } from "../errors.ts";
import { guardedFetch } from "../outbound/guarded-fetch.ts";
import type { OutboundPolicy } from "../outbound/outbound-policy.ts";
import type { ListedTask } from "../store/task-store.ts";
import { encryptMessage } from "./message-encryption.ts";
import type { PostOutcome } from "./notification.ts";
import { assertPushTarget, checkPushTarget } from "./push-target.ts";

/** The timeout of a post in milliseconds, including its response. */
const TIMEOUT_MS = 15_000;

/** The maximum number of bytes to read of a response, which are then ignored. */
const MAX_RESPONSE_BYTES = 4096;

/** How long a push service keeps a message for a device that is off: a day. */
const LIFETIME_S = 24 * 60 * 60;

/** The lifetime of a signed token in seconds. RFC 8292 permits a day. */
const TOKEN_LIFETIME_S = 12 * 60 * 60;

const MAX_ENDPOINT_LENGTH = 2048;

/** The subscription of a browser. */
export type WebPushSubscription = Pick<
  StoredWebPush,
  "endpoint" | "p256dh" | "auth"
>;

/** How a server posts to push services. */
export interface WebPushSender {
  readonly policy: OutboundPolicy;
  /** Returns the private key that identifies the server. */
  readonly key: () => Promise<KeyObject>;
  /** The URL at which clients reach the server. */
  readonly issuer: string;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Checks a subscription before it is stored. Throws `Code.InvalidArgument` for
 * an endpoint that must not be reached and for malformed keys.
 */
export async function checkWebPush(
  { endpoint, p256dh, auth }: WebPushSubscription,
  policy: OutboundPolicy,
  signal: AbortSignal,
): Promise<void> {
  if (endpoint.length > MAX_ENDPOINT_LENGTH) {
    const problem = `has ${endpoint.length} characters: limit is ${MAX_ENDPOINT_LENGTH}`;
    throw invalid("endpoint", "", problem);
  }
  if (!isPoint(p256dh)) {
    const problem = "is not an uncompressed point of P-256 (65 bytes)";
    throw invalid("p256dh", "", problem);
  }
  if (auth.length !== 16) {
    const problem = `has ${auth.length} bytes: must have 16`;
    throw invalid("auth", "", problem);
  }
  try {
    await checkPushTarget(endpoint, policy, signal);
  } catch (reason) {
    throw withFieldNames(reason, { url: "endpoint" });
  }
}

/** Whether a message can be encrypted for a key. */
function isPoint(p256dh: Uint8Array): boolean {
  if (p256dh.length !== 65 || p256dh[0] !== 4) return false;
  try {
    encryptMessage(Buffer.of(), { p256dh, auth: Buffer.of() });
    return true;
  } catch {
    return false;
  }
}

/**
 * Posts once that a task waits, to the push service of a browser (RFC 8030):
 * encrypted for the browser (RFC 8291), and signed with the server's key (RFC
 * 8292). A later message of the same task takes the place of one that the
 * browser has not got.
 *
 * A failure of the push service is an outcome; rejects only with the signal's
 * reason.
 */
export async function postWebPush(
  subscription: WebPushSubscription,
  task: ListedTask,
  { policy, key, issuer, now }: WebPushSender,
  signal: AbortSignal,
): Promise<PostOutcome> {
  try {
    const { endpoint } = subscription;
    const { origin } = assertPushTarget(endpoint, policy);
    const { status, retryAfterMs } = await guardedFetch(
      {
        url: endpoint,
        method: "POST",
        headers: {
          "content-type": "application/octet-stream",
          "content-encoding": "aes128gcm",
          ttl: String(LIFETIME_S),
          urgency: "high",
          // At most 32 characters of base64url.
          topic: hash("sha256", task.last.taskId, "base64url").slice(0, 32),
          authorization: await vapid(await key(), origin, issuer, now()),
        },
        body: encryptMessage(Buffer.from(messageOf(task)), subscription),
        maxRedirects: 0,
        maxBytes: MAX_RESPONSE_BYTES,
        timeoutMs: TIMEOUT_MS,
      },
      policy,
      signal,
    );
    if (status >= 200 && status < 300) return { case: "delivered" };
    const reason = `it answered ${status}`;
    if (status === 404 || status === 410) return { case: "gone", reason };
    return { case: "failed", reason, retryAfterMs };
  } catch (reason) {
    signal.throwIfAborted();
    const isOurs = reason instanceof DevtoolError;
    return {
      case: "failed",
      reason: isOurs ? reason.message : "it could not be posted",
    };
  }
}

/** Returns the public key as browsers take it: an uncompressed point. */
export function vapidPublicKey(privateKey: KeyObject): Uint8Array {
  const { x = "", y = "" } = createPublicKey(privateKey).export({
    format: "jwk",
  });
  const coordinates = [x, y].map((each) => Buffer.from(each, "base64url"));
  return new Uint8Array(Buffer.concat([Buffer.of(4), ...coordinates]));
}

/** Returns the header that identifies the server (RFC 8292, section 3). */
async function vapid(
  key: KeyObject,
  origin: string,
  issuer: string,
  nowMs: number,
): Promise<string> {
  const { SignJWT } = await import("jose");
  const token = new SignJWT()
    .setProtectedHeader({ typ: "JWT", alg: "ES256" })
    .setAudience(origin)
    .setExpirationTime(Math.floor(nowMs / 1000) + TOKEN_LIFETIME_S);
  // Push services take the URL of a server that they could reach.
  if (issuer.startsWith("https://")) token.setSubject(issuer);
  const publicKey = Buffer.from(vapidPublicKey(key)).toString("base64url");
  return `vapid t=${await token.sign(key)}, k=${publicKey}`;
}

function messageOf({ last, title }: ListedTask): string {
  const message = { taskId: last.taskId, title: visibleText(title) };
  return toJsonString(
    WebPushMessageSchema,
    create(WebPushMessageSchema, message),
  );
}
