import { createCipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";
import type { StoredWebPush } from "@devtool/schema";

/** The size of the only record of a message, which holds up to 3993 bytes. */
const RECORD_SIZE = 4096;

/** What differs from message to message. Default: random values. */
export interface MessageSecrets {
  /** The private key of the sender: P-256. */
  readonly privateKey: Uint8Array;
  /** 16 bytes. */
  readonly salt: Uint8Array;
}

/**
 * Encrypts a message for a browser (RFC 8291, section 3.4) in the content coding
 * `aes128gcm` with one record (RFC 8188). Throws for a key of the browser that is
 * not a point of P-256.
 *
 * In few lines here: of the libraries, the maintained ones write the draft before
 * the RFC, or come without the text of a licence that permits copies.
 */
export function encryptMessage(
  text: Uint8Array,
  { p256dh, auth }: Pick<StoredWebPush, "p256dh" | "auth">,
  secrets?: MessageSecrets,
): Uint8Array {
  const sender = createECDH("prime256v1");
  if (secrets) {
    sender.setPrivateKey(secrets.privateKey);
  } else {
    sender.generateKeys();
  }
  const { salt = randomBytes(16) } = secrets ?? {};
  const publicKey = sender.getPublicKey();
  const secret = derive(
    sender.computeSecret(p256dh),
    auth,
    Buffer.concat([Buffer.from("WebPush: info\0"), p256dh, publicKey]),
    32,
  );
  const key = derive(secret, salt, "Content-Encoding: aes128gcm\0", 16);
  const nonce = derive(secret, salt, "Content-Encoding: nonce\0", 12);
  const cipher = createCipheriv("aes-128-gcm", key, nonce);
  const recordSize = Buffer.alloc(4);
  recordSize.writeUInt32BE(RECORD_SIZE);
  return Buffer.concat([
    ...[salt, recordSize, Buffer.of(publicKey.length), publicKey],
    cipher.update(text),
    // The delimiter of the last record, without padding.
    cipher.update(Buffer.of(2)),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
}

function derive(
  secret: Uint8Array,
  salt: Uint8Array,
  info: Uint8Array | string,
  length: number,
): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, salt, info, length));
}
