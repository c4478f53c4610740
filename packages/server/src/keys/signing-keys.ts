import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
} from "node:crypto";
import { promisify } from "node:util";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type SigningKey,
  SigningKeyFileSchema,
  SigningKeySchema,
} from "@devtool/schema";
import type { JSONWebKeySet, JWTPayload } from "jose";
import { Code, DevtoolError, quoted } from "../errors.ts";
import type { KeyStorage } from "../store/key-storage.ts";

const DAY_MS = 24 * 60 * 60_000;

/**
 * The time in milliseconds for which a key signs before the next one replaces
 * it.
 */
export const ROTATION_MS: number = 30 * DAY_MS;

/**
 * The time in milliseconds for which a key is published before its first
 * signature and after its last one, so that receivers that cache the list of
 * keys know it.
 */
const OVERLAP_MS: number = DAY_MS;

interface SigningKeysOptions {
  /** Keeps the keys. Default: they are kept in memory. */
  readonly storage?: KeyStorage | undefined;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * The time in milliseconds after which stored keys are read again: an operator,
 * or another server, may have added one.
 */
const RELOAD_MS = 60_000;

const ALGORITHM = "ES256";

/** What becomes of a key, for its operator. */
export interface KeyState {
  readonly keyId: string;
  readonly createdMs: number;
  /** `next` is published and does not sign yet, `previous` not any more. */
  readonly use: "next" | "signs" | "previous";
  /**
   * Until when that lasts, in milliseconds since 1970; undefined for a key that
   * signs until the next one is due or made.
   */
  readonly untilMs?: number;
}

/** The key for new signatures. */
export interface CurrentKey {
  /** The id of the key in the list of public keys. */
  readonly keyId: string;
  /** The JWS algorithm. */
  readonly algorithm: string;
  readonly privateKey: KeyObject;
}

/** The keys, oldest first, and the version of their storage. */
interface KnownKeys {
  readonly keys: readonly SigningKey[];
  readonly version: bigint;
  /** When they were read, in milliseconds since 1970. */
  readonly readMs: number;
}

/**
 * The keys with which a server signs agent cards, notifications and the audit
 * records of deletions (ES256). Creates and rotates them as needed.
 */
export class SigningKeys {
  readonly #options: SigningKeysOptions;
  /**
   * The keys after the last access. Each access waits for the one before it.
   */
  #keys: Promise<KnownKeys> | undefined;
  /** The parsed private keys, by key id. */
  readonly #parsed = new Map<string, KeyObject>();

  constructor(options: SigningKeysOptions) {
    this.#options = options;
  }

  /** Signs claims as a JWT. Its header names the key. */
  async sign(claims: JWTPayload): Promise<string> {
    const { SignJWT } = await import("jose");
    const { keyId, algorithm, privateKey } = await this.current();
    return new SignJWT(claims)
      .setProtectedHeader({ alg: algorithm, kid: keyId, typ: "JWT" })
      .sign(privateKey);
  }

  /**
   * Returns the key for new signatures: the newest that has been published long
   * enough.
   */
  async current(): Promise<CurrentKey> {
    const { keys } = await this.#rotated();
    const now = this.#options.now();
    const key =
      keys.findLast((candidate) => now - createdMs(candidate) >= OVERLAP_MS) ??
      keys[0];
    if (!key) {
      throw new DevtoolError("there is no signing key", Code.Internal, {
        remedy: "start the server again",
      });
    }
    return {
      keyId: key.id,
      algorithm: ALGORITHM,
      privateKey: this.#parse(key),
    };
  }

  /** Lists the keys that are published, oldest first. Creates and removes none. */
  async list(): Promise<KeyState[]> {
    const { keys } = await this.#load();
    const now = this.#options.now();
    const signing = Math.max(
      0,
      keys.findLastIndex((key) => now - createdMs(key) >= OVERLAP_MS),
    );
    return keys.map((key, index) => {
      const about = { keyId: key.id, createdMs: createdMs(key) };
      if (index > signing) {
        return { ...about, use: "next", untilMs: createdMs(key) + OVERLAP_MS };
      }
      const next = keys[index + 1];
      if (index === signing) {
        return next
          ? { ...about, use: "signs", untilMs: createdMs(next) + OVERLAP_MS }
          : { ...about, use: "signs" };
      }
      const end = next ? createdMs(next) + 2 * OVERLAP_MS : now;
      return { ...about, use: "previous", untilMs: end };
    });
  }

  /**
   * Adds a key before the next one is due. Like any, it is published a day
   * before it signs, and the one before it a day longer than that: receivers
   * that cache the list verify all signatures.
   *
   * Throws `Code.FailedPrecondition` while the newest key does not sign yet.
   */
  async replaceKey(): Promise<void> {
    const { storage, now } = this.#options;
    for (;;) {
      const newest = (await this.list()).at(-1);
      if (newest?.use === "next") {
        throw new DevtoolError(
          `key "${newest.keyId}" is new already`,
          Code.FailedPrecondition,
          { remedy: "wait until it signs: see devtool keys list" },
        );
      }
      const { keys, version } = await this.#load();
      const added = [...keys, await createKey(now())];
      const file = create(SigningKeyFileSchema, { keys: added });
      if (!storage || (await storage.replace(file, version))) break;
    }
    this.#keys = undefined;
  }

  /**
   * Removes a key at once, such as one that was stolen: nothing signs with it
   * any more, and it is no longer published. Without another key, a new one
   * signs at once.
   *
   * Throws `Code.NotFound` for a key that is not published.
   */
  async revokeKey(keyId: string): Promise<void> {
    const { storage, now } = this.#options;
    for (;;) {
      const { keys, version } = await this.#load();
      const kept = keys.filter(({ id }) => id !== keyId);
      if (kept.length === keys.length) {
        throw new DevtoolError(
          `key ${quoted(keyId)} is not published`,
          Code.NotFound,
          { remedy: "see devtool keys list" },
        );
      }
      if (kept.length === 0) kept.push(await createKey(now()));
      const file = create(SigningKeyFileSchema, { keys: kept });
      if (!storage || (await storage.replace(file, version))) break;
    }
    this.#keys = undefined;
  }

  /** Returns the public keys, as `/.well-known/jwks.json` lists them. */
  async publicKeys(): Promise<JSONWebKeySet> {
    const { keys } = await this.#rotated();
    return {
      keys: keys.map((key) => ({
        ...publicJwk(this.#parse(key)),
        kid: key.id,
        alg: ALGORITHM,
        use: "sig",
      })),
    };
  }

  #parse({ id, privateKey }: SigningKey): KeyObject {
    const known = this.#parsed.get(id);
    if (known) return known;
    const parsed = createPrivateKey({
      key: Buffer.from(privateKey),
      format: "der",
      type: "pkcs8",
    });
    this.#parsed.set(id, parsed);
    return parsed;
  }

  /**
   * Returns the keys for the current time. The first access creates a key,
   * later ones replace old keys.
   */
  #rotated(): Promise<KnownKeys> {
    const rotated = this.#known().then((known) => this.#rotate(known));
    this.#keys = rotated;
    rotated.catch(() => {
      if (this.#keys === rotated) this.#keys = undefined;
    });
    return rotated;
  }

  /** Returns the keys after the last access, or as they are stored by now. */
  async #known(): Promise<KnownKeys> {
    const known = await this.#keys;
    const isFresh = known && this.#options.now() - known.readMs < RELOAD_MS;
    return isFresh || (known && !this.#options.storage) ? known : this.#load();
  }

  /**
   * Adds the next key in time, and removes those whose signatures nobody
   * verifies any more.
   */
  async #rotate(known: KnownKeys): Promise<KnownKeys> {
    const { keys, version } = known;
    const now = this.#options.now();
    const needsNext = !keys.some(
      (key) => now - createdMs(key) < ROTATION_MS - OVERLAP_MS,
    );
    const kept = keys.filter((_key, index) => {
      // A key signs until the next one has been published for `OVERLAP_MS`. It
      // stays published for as long again.
      const next = keys[index + 1];
      return next === undefined || now - createdMs(next) < 2 * OVERLAP_MS;
    });
    if (!needsNext && kept.length === keys.length) return known;
    const renewed = needsNext ? [...kept, await createKey(now)] : kept;
    const { storage } = this.#options;
    if (!storage) return { ...known, keys: renewed };
    const isStored = await storage.replace(
      create(SigningKeyFileSchema, { keys: renewed }),
      version,
    );
    // Another server may have stored keys first: those count for all.
    const stored = await this.#load();
    return isStored ? stored : this.#rotate(stored);
  }

  async #load(): Promise<KnownKeys> {
    const { storage } = this.#options;
    const readMs = this.#options.now();
    if (!storage) return { keys: [], version: 0n, readMs };
    const { keys, version } = await storage.read();
    return { keys: keys.keys, version, readMs };
  }
}

function createdMs({ createTime }: SigningKey): number {
  return createTime ? timestampMs(createTime) : 0;
}

async function createKey(now: number): Promise<SigningKey> {
  const { calculateJwkThumbprint } = await import("jose");
  const { privateKey } = await promisify(generateKeyPair)("ec", {
    namedCurve: "P-256",
  });
  const id = await calculateJwkThumbprint(publicJwk(privateKey));
  // Commands would take it for an option.
  if (id.startsWith("-")) return createKey(now);
  return create(SigningKeySchema, {
    id,
    privateKey: privateKey.export({ format: "der", type: "pkcs8" }),
    createTime: timestampFromMs(now),
  });
}

/** Returns the public part of a private key as a JWK. */
function publicJwk(privateKey: KeyObject): {
  kty: string;
  crv: string;
  x: string;
  y: string;
} {
  const { x = "", y = "" } = createPublicKey(privateKey).export({
    format: "jwk",
  });
  return { kty: "EC", crv: "P-256", x, y };
}
