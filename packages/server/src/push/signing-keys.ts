import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from "node:crypto";
import { constants } from "node:fs";
import { open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { type SigningKey, type SigningKeyFile, SigningKeyFileSchema, SigningKeySchema } from "@devtool/schema";
import type { JSONWebKeySet, JWTPayload } from "jose";
import { Code, DevtoolError, type ErrorOptions } from "../errors.ts";
import { failpoint } from "../failpoint.ts";

const DAY_MS = 24 * 60 * 60_000;

/** A key signs for so long before the next one takes over, in milliseconds. */
export const ROTATION_MS: number = 30 * DAY_MS;

/** A key is published for so long before it signs and after it did, so that those who keep the list know both. */
export const OVERLAP_MS: number = DAY_MS;

/** What keys need. */
export interface SigningKeysOptions {
  /** The file that they are kept in, mode 0600; in memory only when left out. */
  readonly file?: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const ALGORITHM = "ES256";

/** The key that signs now, and what it is called in the list of public halves. */
export interface CurrentKey {
  readonly keyId: string;
  /** Its JWS algorithm. */
  readonly algorithm: string;
  readonly privateKey: KeyObject;
}

/** The keys that a server signs with (ES256), and the list of their public halves. */
export class SigningKeys {
  readonly #options: SigningKeysOptions;
  #keys: Promise<readonly SigningKey[]> | undefined;
  readonly #opened = new Map<string, KeyObject>();

  constructor(options: SigningKeysOptions) {
    this.#options = options;
  }

  /** Signs claims as a JWT whose header names the key. */
  async sign(claims: JWTPayload): Promise<string> {
    const { SignJWT } = await import("jose");
    const { keyId, algorithm, privateKey } = await this.current();
    return new SignJWT(claims).setProtectedHeader({ alg: algorithm, kid: keyId, typ: "JWT" }).sign(privateKey);
  }

  /** The key that signs now. */
  async current(): Promise<CurrentKey> {
    const key = signingKey(await this.#current(), this.#options.now());
    return { keyId: key.id, algorithm: ALGORITHM, privateKey: this.#privateKey(key) };
  }

  /** The public halves, as `/.well-known/jwks.json` has them. */
  async publicKeys(): Promise<JSONWebKeySet> {
    const keys = await this.#current();
    return { keys: keys.map((key) => ({ ...jwkOf(this.#privateKey(key)), kid: key.id, alg: ALGORITHM, use: "sig" })) };
  }

  #privateKey({ id, privateKey }: SigningKey): KeyObject {
    const known = this.#opened.get(id);
    if (known) return known;
    const opened = createPrivateKey({ key: Buffer.from(privateKey), format: "der", type: "pkcs8" });
    this.#opened.set(id, opened);
    return opened;
  }

  /** The keys as they are to be now, one look after the other: the first makes one, and time makes the next. */
  #current(): Promise<readonly SigningKey[]> {
    const current = (this.#keys ?? this.#load()).then((keys) => this.#renewed(keys));
    this.#keys = current;
    current.catch(() => {
      if (this.#keys === current) this.#keys = undefined;
    });
    return current;
  }

  async #renewed(keys: readonly SigningKey[]): Promise<readonly SigningKey[]> {
    const now = this.#options.now();
    const needsNext = !keys.some((key) => now - madeMs(key) < ROTATION_MS - OVERLAP_MS);
    const kept = keys.filter((_key, index) => !isPast(keys[index + 1], now));
    if (!needsNext && kept.length === keys.length) return keys;
    const renewed = needsNext ? [...kept, await makeKey(now)] : kept;
    const { file } = this.#options;
    if (file !== undefined) await writeKeys(file, create(SigningKeyFileSchema, { keys: renewed }));
    return renewed;
  }

  async #load(): Promise<readonly SigningKey[]> {
    const { file } = this.#options;
    return file === undefined ? [] : (await readKeys(file)).keys;
  }
}

/** The newest key that was published long enough; the oldest when none was. */
function signingKey(keys: readonly SigningKey[], now: number): SigningKey {
  const key = keys.findLast((one) => now - madeMs(one) >= OVERLAP_MS) ?? keys[0];
  if (!key) throw new DevtoolError("there is no signing key", Code.Internal, { remedy: "start the server again" });
  return key;
}

/** Tells whether the key before this one has not signed for longer than anybody may still ask for it. */
function isPast(next: SigningKey | undefined, now: number): boolean {
  return next !== undefined && now - madeMs(next) >= 2 * OVERLAP_MS;
}

function madeMs({ createTime }: SigningKey): number {
  return createTime ? timestampMs(createTime) : 0;
}

async function makeKey(now: number): Promise<SigningKey> {
  const { calculateJwkThumbprint } = await import("jose");
  const { privateKey } = await promisify(generateKeyPair)("ec", { namedCurve: "P-256" });
  return create(SigningKeySchema, {
    id: await calculateJwkThumbprint(jwkOf(privateKey)),
    privateKey: privateKey.export({ format: "der", type: "pkcs8" }),
    createTime: timestampFromMs(now),
  });
}

/** The public half, and nothing of the private one. */
function jwkOf(privateKey: KeyObject): { kty: string; crv: string; x: string; y: string } {
  const { x = "", y = "" } = createPublicKey(privateKey).export({ format: "jwk" });
  return { kty: "EC", crv: "P-256", x, y };
}

async function readKeys(path: string): Promise<SigningKeyFile> {
  try {
    const { mode } = await stat(path);
    if ((mode & 0o077) !== 0)
      throw unusable(path, "others may read it", { remedy: "remove it, and a new one is made" });
    return fromJsonString(SigningKeyFileSchema, await readFile(path, "utf8"));
  } catch (reason) {
    if (reason instanceof DevtoolError) throw reason;
    if (reason instanceof Error && "code" in reason && reason.code === "ENOENT") return create(SigningKeyFileSchema);
    throw unusable(path, "it cannot be read", { remedy: "mend or remove it", cause: reason });
  }
}

/** Writes a new file beside the old one, synced before it takes its place. */
async function writeKeys(path: string, keys: SigningKeyFile): Promise<void> {
  const beside = `${path}.new`;
  failpoint("devtool:signing-keys.write.before");
  await rm(beside, { force: true });
  {
    const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
    await using file = await open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    await file.writeFile(`${toJsonString(SigningKeyFileSchema, keys, { prettySpaces: 2 })}\n`);
    await file.sync();
  }
  failpoint("devtool:signing-keys.rename.before");
  await rename(beside, path);
  await using directory = await open(dirname(path), constants.O_RDONLY);
  await directory.sync();
  failpoint("devtool:signing-keys.rename.after");
}

function unusable(path: string, why: string, options: ErrorOptions): DevtoolError {
  const problem = `signing keys ${JSON.stringify(path)} cannot be used: ${why}`;
  return new DevtoolError(problem, Code.FailedPrecondition, options);
}
