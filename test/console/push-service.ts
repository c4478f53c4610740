import {
  createDecipheriv,
  createECDH,
  type ECDH,
  hkdfSync,
  randomBytes,
} from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { importJWK, type JWTPayload, jwtVerify } from "jose";

/** The keys of a browser (RFC 8291). */
export interface BrowserKeys {
  readonly ecdh: ECDH;
  readonly auth: Uint8Array<ArrayBuffer>;
}

/** A post as the push service got it. */
export interface PushPost {
  /** The browser that it is for. */
  readonly browser: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** A push service on loopback, with browsers that have subscribed there. */
export interface PushService extends AsyncDisposable {
  /** Its `host:port`, as an operator lists it. */
  readonly target: string;
  readonly posts: readonly PushPost[];
  /** Subscribes a browser, as `PushManager.subscribe` does. */
  subscribe(browser: string): {
    readonly endpoint: string;
    readonly p256dh: Uint8Array<ArrayBuffer>;
    readonly auth: Uint8Array<ArrayBuffer>;
  };
  /** Returns what a post says to its browser, as JSON. */
  read(post: PushPost): unknown;
  /** Answers the posts from now on. Default: with 201. */
  answerWith(answer: (response: ServerResponse, post: PushPost) => void): void;
}

export async function startPushService(): Promise<PushService> {
  const posts: PushPost[] = [];
  const browsers = new Map<string, BrowserKeys>();
  let answer = (response: ServerResponse, _post: PushPost): void =>
    void response.writeHead(201).end();
  const server = createServer(async (request, response) => {
    const body = await buffer(request).catch(() => undefined);
    // The server stopped, or was killed.
    if (!body) return;
    const browser = (request.url ?? "").slice(1);
    const post = { browser, headers: request.headers, body };
    posts.push(post);
    answer(response, post);
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const target = `127.0.0.1:${port}`;
  return {
    target,
    posts,
    subscribe(browser) {
      const keys = { ecdh: createECDH("prime256v1"), auth: random(16) };
      const p256dh = new Uint8Array(keys.ecdh.generateKeys());
      browsers.set(browser, keys);
      return {
        endpoint: `http://${target}/${browser}`,
        p256dh,
        auth: keys.auth,
      };
    },
    read({ browser, body }) {
      const keys = browsers.get(browser);
      if (!keys) throw new Error(`nobody subscribed as "${browser}"`);
      return JSON.parse(decrypt(body, keys));
    },
    answerWith: (next) => {
      answer = next;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function random(size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(randomBytes(size));
}

/**
 * Decrypts a message of one record as a browser does (RFC 8188, section 2; RFC
 * 8291, section 3). Throws for a message to somebody else.
 */
export function decrypt(body: Buffer, { ecdh, auth }: BrowserKeys): string {
  const salt = body.subarray(0, 16);
  const keyLength = body[20] ?? 0;
  const sender = body.subarray(21, 21 + keyLength);
  const record = body.subarray(21 + keyLength);
  const shared = ecdh.computeSecret(sender);
  const info = Buffer.concat([
    Buffer.from("WebPush: info\0"),
    ecdh.getPublicKey(),
    sender,
  ]);
  const secret = derive(shared, auth, info, 32);
  const key = derive(secret, salt, "Content-Encoding: aes128gcm\0", 16);
  const nonce = derive(secret, salt, "Content-Encoding: nonce\0", 12);
  const decipher = createDecipheriv("aes-128-gcm", key, nonce);
  decipher.setAuthTag(record.subarray(-16));
  const padded = Buffer.concat([
    decipher.update(record.subarray(0, -16)),
    decipher.final(),
  ]);
  // The last record ends with a two and zeros.
  return padded.subarray(0, padded.lastIndexOf(2)).toString();
}

function derive(
  secret: Uint8Array,
  salt: Uint8Array,
  info: Uint8Array | string,
  length: number,
): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, salt, info, length));
}

/**
 * Verifies who has sent a post (RFC 8292), and returns the claims and the public
 * key that it names.
 */
export async function verifySender({
  headers,
}: PushPost): Promise<{ readonly claims: JWTPayload; readonly key: Buffer }> {
  const [, token = "", named = ""] =
    /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(String(headers.authorization)) ?? [];
  const key = Buffer.from(named, "base64url");
  const [x, y] = [key.subarray(1, 33), key.subarray(33)].map((each) =>
    each.toString("base64url"),
  );
  const jwk = { kty: "EC", crv: "P-256", x: x ?? "", y: y ?? "" };
  const { payload } = await jwtVerify(token, await importJWK(jwk, "ES256"));
  return { claims: payload, key };
}
