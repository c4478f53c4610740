import {
  createPrivateKey,
  generateKeyPair,
  hash,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { promisify } from "node:util";
import {
  create,
  fromJsonString,
  type MessageShape,
  toJsonString,
} from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { failpoint } from "@devtool/internal/failpoint";
import { grants, OTHERS } from "@devtool/internal/file-access";
import { replaceFile } from "@devtool/internal/replace-file";
import {
  type BrowserSession,
  BrowserSessionFileSchema,
  BrowserSessionSchema,
  CallerRight,
  type StoredBrowserSession,
  type StoredWebPush,
} from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";
import type {
  NotifiedBrowser,
  WebPushBrowsers,
} from "../push/web-push-delivery.ts";
import { type Caller, COMMON_RIGHTS, type Right } from "./caller.ts";

/**
 * The kinds of codes: for the address of a page, and for a person to type on a
 * device.
 */
export type CodeKind = "link" | "device";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * How long a code can be redeemed, and how long its session lasts unless the
 * credentials that asked for it expire before; in milliseconds. A timer takes 24
 * days at most.
 */
const LIFETIMES: Readonly<
  Record<CodeKind, { readonly codeMs: number; readonly sessionMs: number }>
> = {
  link: { codeMs: MINUTE_MS, sessionMs: 12 * HOUR_MS },
  device: { codeMs: 5 * MINUTE_MS, sessionMs: 14 * 24 * HOUR_MS },
};

/** Wrong codes of devices within a minute, after which none is taken. */
const MAX_WRONG_CODES = 10;

/**
 * The digits of codes for devices: base 32 by Crockford, without letters that
 * look like others.
 */
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Maximum number of sessions of one principal, and of its codes that wait. */
const MAX_PER_PRINCIPAL = 32;

interface BrowserSessionsOptions {
  /**
   * The file that keeps the sessions, with mode 0600. Default: they end with
   * the server.
   */
  readonly file?: string | undefined;
  /**
   * The sources of credentials that the server accepts (`Caller.source`). Kept
   * sessions of other sources end.
   */
  readonly sources: ReadonlySet<string>;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
  /**
   * Waits for a time in milliseconds, or until the signal aborts, and then
   * rejects.
   */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** A code that waits to be redeemed. */
interface OpenCode {
  readonly caller: Caller;
  readonly kind: CodeKind;
  readonly label: string;
  readonly expireMs: number;
}

/**
 * A connection that carries requests of a browser: a socket, or a stream of
 * HTTP/2.
 */
export interface HeldConnection {
  destroy(): unknown;
  once(event: "close", listener: () => void): unknown;
}

/** A session with the connections that use it. */
interface OpenSession {
  stored: StoredBrowserSession;
  readonly connections: Set<HeldConnection>;
  /** Aborts when the session has ended. */
  readonly ended: AbortController;
}

/**
 * The access of web browsers: codes that are redeemed once, and the sessions
 * that come of them.
 */
export class BrowserSessions implements Disposable, WebPushBrowsers {
  readonly #options: BrowserSessionsOptions;
  /** Codes and sessions are known by the digests of their secrets alone. */
  readonly #codes = new Map<string, OpenCode>();
  readonly #sessions = new Map<string, OpenSession>();
  /** The private key for Web Push, in DER; empty until it is needed. */
  #webPushKey: Uint8Array = new Uint8Array();
  /** When wrong codes of devices came, within the last minute. */
  #wrongMs: readonly number[] = [];
  #written: Promise<void> = Promise.resolve();

  private constructor(options: BrowserSessionsOptions) {
    this.#options = options;
  }

  /**
   * Opens the sessions that an earlier run has kept, unless their credentials
   * are no longer accepted. Throws a `DevtoolError` when the file cannot be
   * used.
   */
  static async open(options: BrowserSessionsOptions): Promise<BrowserSessions> {
    const sessions = new BrowserSessions(options);
    const { sessions: kept, webPushKey } =
      options.file === undefined
        ? create(BrowserSessionFileSchema)
        : await readBrowserSessions(options.file);
    sessions.#webPushKey = webPushKey;
    for (const stored of kept) {
      if (options.sources.has(stored.credentialSource)) sessions.#add(stored);
    }
    // Ended sessions are removed for good: they do not return when their token
    // is configured again.
    if (sessions.#sessions.size < kept.length) await sessions.#save();
    return sessions;
  }

  /**
   * Creates a code for a caller. Throws `Code.ResourceExhausted` when too many
   * of its codes wait.
   */
  createCode(
    caller: Caller,
    label: string,
    kind: CodeKind = "link",
  ): { readonly code: string; readonly expireMs: number } {
    const now = this.#options.now();
    for (const [digest, { expireMs }] of this.#codes) {
      if (expireMs <= now) this.#codes.delete(digest);
    }
    const waiting = [...this.#codes.values()].filter(
      (open) => open.caller.principal === caller.principal,
    );
    if (waiting.length >= MAX_PER_PRINCIPAL) {
      throw tooMany("codes", "wait a minute");
    }
    const code =
      kind === "device" ? deviceCode() : randomBytes(32).toString("base64url");
    const expireMs = now + LIFETIMES[kind].codeMs;
    this.#codes.set(digestOf(code), { caller, kind, label, expireMs });
    return { code, expireMs };
  }

  /**
   * Redeems a code, which is then used. Throws `Code.Unauthenticated` when it
   * is wrong, expired or used, and `Code.ResourceExhausted` when its principal
   * has too many sessions, or after too many wrong codes of devices.
   *
   * @param browser the label of the session when its code has none
   */
  async redeem(
    code: string,
    browser = "",
  ): Promise<{ readonly token: string; readonly session: BrowserSession }> {
    const now = this.#options.now();
    const typed = typedCode(code);
    if (typed !== undefined) this.#assertFewGuesses(now);
    const digest = digestOf(typed ?? code);
    const open = this.#codes.get(digest);
    this.#codes.delete(digest);
    if (!open || open.expireMs <= now) {
      if (typed !== undefined) this.#wrongMs = [...this.#wrongMs, now];
      throw new DevtoolError(
        "code is wrong, expired or used",
        Code.Unauthenticated,
        {
          remedy: 'get another one with "devtool console" or "devtool pair"',
        },
      );
    }
    const { caller, kind, label } = open;
    if (this.list(caller.principal).length >= MAX_PER_PRINCIPAL) {
      throw tooMany("sessions", "revoke one");
    }
    const token = randomBytes(32).toString("base64url");
    const session = create(BrowserSessionSchema, {
      id: randomBytes(6).toString("hex"),
      label: label || browser,
      createTime: timestampFromMs(now),
      expireTime: timestampFromMs(
        Math.min(
          now + LIFETIMES[kind].sessionMs,
          caller.expireMs ?? Number.POSITIVE_INFINITY,
        ),
      ),
    });
    const { principal, source = "", roles = [], userTier = "" } = caller;
    const rights = [...caller.rights].map((right) => RIGHTS[right]);
    this.#add({
      $typeName: "devtool.v1alpha.StoredBrowserSession",
      session,
      principal,
      rights,
      tokenDigest: new Uint8Array(hash("sha256", token, "buffer")),
      credentialSource: source,
      roles: [...roles],
      userTier,
    });
    await this.#save();
    return { token, session };
  }

  /**
   * Lists the sessions of a principal that have not ended, the newest first.
   */
  list(principal: string): BrowserSession[] {
    const own = [...this.#sessions.values()].filter(
      ({ stored }) => stored.principal === principal,
    );
    return own
      .flatMap(({ stored: { session, webPush } }) =>
        session ? [{ ...session, isNotified: webPush !== undefined }] : [],
      )
      .filter((session) => !this.#isOver(session))
      .reverse();
  }

  /** Lists the browsers that are notified of tasks that wait. */
  notified(): NotifiedBrowser[] {
    return [...this.#sessions.values()].flatMap(({ stored, ended }) => {
      const { session, principal, roles, webPush } = stored;
      if (!session || !webPush || this.#isOver(session)) return [];
      const { id } = session;
      return [{ id, principal, roles, webPush, ended: ended.signal }];
    });
  }

  /**
   * Stores how the browser of a session is notified; undefined ends that. Does
   * nothing when the session has ended.
   */
  async setWebPush(
    id: string,
    webPush: StoredWebPush | undefined,
  ): Promise<void> {
    for (const open of this.#sessions.values()) {
      if (open.stored.session?.id !== id) continue;
      const { webPush: _earlier, ...stored } = open.stored;
      open.stored = webPush ? { ...stored, webPush } : stored;
      await this.#save();
    }
  }

  /**
   * Returns the private key that identifies this server to push services. The
   * first call creates it.
   */
  async webPushKey(): Promise<KeyObject> {
    if (this.#webPushKey.length === 0) {
      const { privateKey } = await promisify(generateKeyPair)("ec", {
        namedCurve: "P-256",
      });
      // Another call may have created one meanwhile.
      if (this.#webPushKey.length === 0) {
        this.#webPushKey = privateKey.export({ format: "der", type: "pkcs8" });
        await this.#save();
      }
    }
    return createPrivateKey({
      key: Buffer.from(this.#webPushKey),
      format: "der",
      type: "pkcs8",
    });
  }

  /**
   * Ends a session of a principal, and its connections. Throws `Code.NotFound`
   * when there is none.
   */
  async revoke(principal: string, id: string): Promise<void> {
    const found = [...this.#sessions].find(
      ([, { stored }]) =>
        stored.principal === principal && stored.session?.id === id,
    );
    if (!found) {
      const remedy = 'list them with "devtool console --list"';
      throw new DevtoolError(
        `browser session "${id}" does not exist`,
        Code.NotFound,
        { remedy },
      );
    }
    this.#end(...found);
    await this.#save();
  }

  /**
   * Returns the caller with a session token; undefined when no session has it.
   */
  callerOf(token: string): Caller | undefined {
    const open = this.#sessions.get(digestOf(token));
    const { session } = open?.stored ?? {};
    if (!open || !session || this.#isOver(session)) return undefined;
    const rights = (
      ["approve", "audit", "list_all", "register"] as const
    ).filter((right) => open.stored.rights.includes(RIGHTS[right]));
    return {
      principal: open.stored.principal,
      rights: new Set([...COMMON_RIGHTS, ...rights]),
      roles: open.stored.roles,
      userTier: open.stored.userTier,
      browserSession: session.id,
    };
  }

  /**
   * Remembers a connection that a session uses, and which ends with it. A proxy
   * may share one: its others call again.
   */
  hold(token: string, connection: HeldConnection): void {
    const connections = this.#sessions.get(digestOf(token))?.connections;
    if (!connections || connections.has(connection)) return;
    connections.add(connection);
    connection.once("close", () => connections.delete(connection));
  }

  [Symbol.dispose](): void {
    for (const { ended } of this.#sessions.values()) ended.abort();
  }

  #add(stored: StoredBrowserSession): void {
    const { session, tokenDigest } = stored;
    if (!session || this.#isOver(session)) return;
    const digest = Buffer.from(tokenDigest).toString("base64url");
    const open = {
      stored,
      connections: new Set<HeldConnection>(),
      ended: new AbortController(),
    };
    this.#sessions.set(digest, open);
    const left =
      timestampMs(session.expireTime ?? timestampFromMs(0)) -
      this.#options.now();
    this.#options.sleep(left, open.ended.signal).then(
      () => this.#end(digest, open),
      () => undefined,
    );
  }

  #end(digest: string, { connections, ended }: OpenSession): void {
    this.#sessions.delete(digest);
    ended.abort();
    for (const connection of connections) connection.destroy();
  }

  #isOver({ expireTime }: BrowserSession): boolean {
    return !expireTime || timestampMs(expireTime) <= this.#options.now();
  }

  /** Throws after too many wrong codes of devices, until a minute has passed. */
  #assertFewGuesses(now: number): void {
    this.#wrongMs = this.#wrongMs.filter((at) => at > now - MINUTE_MS);
    if (this.#wrongMs.length < MAX_WRONG_CODES) return;
    const problem = `${MAX_WRONG_CODES} wrong codes came within a minute, which is the limit`;
    throw new DevtoolError(problem, Code.ResourceExhausted, {
      remedy: "wait a minute",
    });
  }

  /** Writes the sessions, one write after the other. */
  async #save(): Promise<void> {
    const { file } = this.#options;
    if (file === undefined) return;
    const write = async (): Promise<void> => {
      const sessions = [...this.#sessions.values()].map(({ stored }) => stored);
      const content = toJsonString(
        BrowserSessionFileSchema,
        create(BrowserSessionFileSchema, {
          sessions,
          webPushKey: this.#webPushKey,
        }),
        {
          prettySpaces: 2,
        },
      );
      failpoint("devtool:browser-sessions.write.before");
      await replaceFile(file, `${content}\n`);
      failpoint("devtool:browser-sessions.write.after");
    };
    this.#written = this.#written.then(write, write);
    await this.#written;
  }
}

const RIGHTS: Readonly<Record<Right, CallerRight>> = {
  read: CallerRight.READ,
  run: CallerRight.RUN,
  approve: CallerRight.APPROVE,
  audit: CallerRight.AUDIT,
  list_all: CallerRight.LIST_ALL,
  register: CallerRight.REGISTER,
};

/** Returns a new code for a device: 50 random bits in two groups of digits. */
function deviceCode(): string {
  const digits = [...randomBytes(10)].map((byte) => DIGITS[byte % 32]);
  return `${digits.slice(0, 5).join("")}-${digits.slice(5).join("")}`;
}

/**
 * Returns what a person has typed as the server writes codes for devices;
 * undefined for what is not one.
 */
function typedCode(text: string): string | undefined {
  const digits = text
    .slice(0, 32)
    .toUpperCase()
    .replaceAll(/[\s-]/g, "")
    .replaceAll("O", "0")
    .replaceAll(/[IL]/g, "1");
  if (!/^[0-9A-Z]{10}$/.test(digits)) return undefined;
  return `${digits.slice(0, 5)}-${digits.slice(5)}`;
}

function digestOf(secret: string): string {
  return hash("sha256", secret, "base64url");
}

function tooMany(what: string, remedy: string): DevtoolError {
  const problem = `there are ${MAX_PER_PRINCIPAL} browser ${what} already, which is the limit`;
  return new DevtoolError(problem, Code.ResourceExhausted, { remedy });
}

/**
 * Reads the file of browser sessions; an empty one when there is none. Throws
 * for a file that is damaged, or that other users can access.
 */
async function readBrowserSessions(
  path: string,
): Promise<MessageShape<typeof BrowserSessionFileSchema>> {
  try {
    if (grants(await stat(path), OTHERS)) {
      throw new Error("other users can access it");
    }
    return fromJsonString(
      BrowserSessionFileSchema,
      await readFile(path, "utf8"),
    );
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") {
      return create(BrowserSessionFileSchema);
    }
    const remedy = "remove it, which ends the sessions of browsers";
    const problem = `browser sessions in "${path}" cannot be read: ${cause instanceof Error ? cause.message : cause}`;
    throw new DevtoolError(problem, Code.FailedPrecondition, { remedy, cause });
  }
}
