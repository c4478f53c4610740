import { keepStart } from "@devtool/internal/cut-text";
import type { McpServer } from "@devtool/schema";

/**
 * The minimum length of a secret that is replaced: a shorter one may be an
 * ordinary word.
 */
const MIN_LENGTH = 8;

/** What stands in the place of a secret. */
const HIDDEN = "[hidden]";

/**
 * Credentials that are known by their form, also behind an escaped line break:
 * texts quote texts.
 */
const FORMS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)/gs,
  // Not within such a run: each start would read to its end.
  /(?<=^|[^\w-]|\\[nrt])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])(sk|rk|pk)[-_][\w-]{16,}/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])(gh[pousr]|github_pat|glpat|npm|xox[abeprs]|hf|whsec|pypi|dop_v1)[-_][\w-]{16,}/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])dapi[0-9a-f]{32}/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])SG\.[\w.-]{16,}/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])AGE-SECRET-KEY-1\w{16,}/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])\d{6,12}:AA[\w-]{30,}/g,
  /(?<=\/(?:services|webhooks|triggers|workflows)\/[\w/]{1,64}\/)[\w-]{16,}/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])(AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])AIza[\w-]{30,}/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])ya29\.[\w-]{16,}/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi,
  /(?<=:\/{1,2}[^\s/:@"]{0,64}:)[^\s/@"]{1,4096}(?=@)/g,
  /(?<=:\/{1,2})[^\s/:@"]{16,4096}(?=@)/g,
];

/** The end of names whose values are credentials, such as `refreshToken`. */
const NAMES =
  "passw(?:or)?d|passphrase|pwd|secret|token|credentials?|authorization|(?:api|access|account|private|secret)[-_ ]?key";

/** A value after such a name: in a file of settings, a URL or JSON. */
const NAMED_VALUE = new RegExp(
  `((?:${NAMES})[\\\\"']{0,4}\\s{0,4}[:=]\\s{0,4}[\\\\"']{0,4})[^\\s\\\\"',;&]{4,}`,
  "gi",
);

/** A value in quotes after such a name, which may have any characters. */
const QUOTED_VALUE = new RegExp(
  `((?:${NAMES})[\\\\"']{0,4}\\s{0,4}[:=]\\s{0,4}\\\\{0,3}["'])[^\\\\"'\\r\\n]{4,}`,
  "gi",
);

/** Headers whose whole values are credentials: a scheme comes before some. */
const HEADERS =
  /((?:authorization["'\\]{0,4}\s{0,4}[:=]\s{0,4}["'\\]{0,4}|cookie:\s{0,4}))[^\r\n"'\\]{4,}/gi;

/** A value after such a name without a sign between: an option, or a sentence. */
const SAID_VALUE = new RegExp(
  `((?:${NAMES})["']?[ \\t]{1,4}["']?)(?=[^\\s\\d]{0,100}\\d)[^\\s\\\\"',;&]{8,}`,
  "gi",
);

/** A long value with a digit after any other name of a key. */
const KEY_VALUE =
  /([\w-]key[\\"']{0,4}\s{0,4}[:=\s]\s{0,4}[\\"']{0,4})(?=[^\s\d]{0,100}\d)[^\s\\"',;&]{12,}/gi;

/** The password of `curl -u name:password`. */
const USER_VALUE = /(\s(?:-u|--user)[ =]["']?[^\s:"']{1,64}:)[^\s"']+/g;

/** A run of the characters of tokens, and of paths. */
const RUN = /[A-Za-z0-9][\w.~+%/-]{14,}={0,2}/g;

const SECRET_FIELD = new RegExp(`(?:${NAMES})$`, "i");

/** Each has the name as its first group. */
const NAMED: readonly RegExp[] = [
  HEADERS,
  QUOTED_VALUE,
  NAMED_VALUE,
  SAID_VALUE,
  KEY_VALUE,
  USER_VALUE,
];

/** Replaces secrets in text: those that it knows, and those of known forms. */
export class SecretFilter {
  readonly #secrets: ReadonlySet<string>;
  /** The known secrets in each of their forms, the longest first. */
  readonly #texts: readonly string[];

  constructor(secrets: Iterable<string>) {
    this.#secrets = new Set(
      [...secrets].filter((secret) => secret.length >= MIN_LENGTH),
    );
    const texts = [...this.#secrets].flatMap(formsOf);
    this.#texts = [...new Set(texts)].sort((a, b) => b.length - a.length);
  }

  /** Returns a filter that knows the secrets of MCP servers, too. */
  with(servers: readonly McpServer[]): SecretFilter {
    const more = servers.flatMap(secretsOf);
    if (more.every((secret) => this.#secrets.has(secret))) return this;
    return new SecretFilter([...this.#secrets, ...more]);
  }

  /** Returns the text without secrets. */
  hide(text: string): string {
    let shown = this.#hideKnown(text);
    for (const form of FORMS) shown = shown.replace(form, HIDDEN);
    for (const named of NAMED) shown = shown.replace(named, `$1${HIDDEN}`);
    return shown.replace(RUN, hideRandom);
  }

  /**
   * Returns a value as JSON text without secrets, cut to a number of
   * characters.
   */
  json(value: unknown, maxLength: number): string {
    const text = JSON.stringify(value, (name, item) => {
      if (name === "$typeName" || item instanceof Uint8Array) return undefined;
      if (SECRET_FIELD.test(name) && item !== null) return HIDDEN;
      if (typeof item === "bigint") return String(item);
      // What is hidden takes less room, so more is looked at than is shown.
      return typeof item === "string"
        ? this.hide(keepStart(item, 4 * maxLength))
        : item;
    });
    // A name may be a secret as well.
    return keepStart(this.#hideKnown(text ?? ""), maxLength);
  }

  #hideKnown(text: string): string {
    let shown = text;
    for (const secret of this.#texts) {
      shown = shown.replaceAll(secret, HIDDEN);
    }
    return shown;
  }
}

/** Hides the parts of a path, or of a token with slashes, that look random. */
function hideRandom(run: string): string {
  const parts = run.split("/");
  const random = parts.map(isRandom);
  if (!random.includes(true)) return run;
  const hidden = parts.map((part, at) =>
    random[at] || (isPiece(part) && (random[at - 1] || random[at + 1]))
      ? HIDDEN
      : part,
  );
  return hidden.join("/");
}

/** Whether a part beside a random one may be of the same token. */
function isPiece(part: string): boolean {
  return !/^([A-Z]?[a-z]*|[\w-]+\.[a-z]{1,4})$/.test(part);
}

/** The lengths of common digests in hexadecimal digits, and of trace ids. */
const DIGESTS = new Set([32, 40, 64]);

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Whether a text looks like a token that a program made: letters and digits
 * alternate, or capitals begin no words. A digest or UUID on its own does not.
 */
function isRandom(text: string): boolean {
  if (text.length < 16) return false;
  if (DIGESTS.has(text.length) && /^[0-9a-f]*$/.test(text)) return false;
  if (UUID.test(text)) return false;
  const isPrefixed = /^[A-Za-z]\w{0,20}[-_.~]/.test(text);
  const min = isPrefixed ? 16 : 20;
  return text
    .split(/[^A-Za-z0-9_-]/)
    .some((part) => part.length >= min && isMixed(part));
}

/** Where a letter and a digit meet. */
const CHANGE = /[A-Za-z](?=\d)|\d(?=[A-Za-z])/g;

/** Whether letters and digits of a text are not those of words and numbers. */
function isMixed(part: string): boolean {
  const changes = countOf(part, CHANGE);
  if (changes >= 4 && changes >= Math.min(part.length / 5, 7)) return true;
  if (/[bcdfghj-np-tv-xz]{7}/.test(part)) return true;
  // Long words of one case have hardly a digit within.
  const lower = part.match(/[a-z0-9]{16,}/g) ?? [];
  if (lower.some((word) => countOf(word, CHANGE) >= 3)) return true;
  const upper = part.match(/[A-Z0-9]{16,}/g) ?? [];
  if (upper.some((word) => countOf(word, CHANGE) >= 1)) return true;
  const long = (part.match(/[A-Za-z0-9]{8,}/g) ?? []).join(" ");
  const letters = countOf(long, /[A-Za-z]/g);
  const words = countOf(long, /[A-Z]?[a-z]+|[A-Z]+/g);
  return countOf(long, CHANGE) > 0 && letters < 3.6 * words;
}

function countOf(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

/** Returns a secret as it is, and as JSON, addresses and headers write it. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const base64 = bytes.toString("base64");
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    base64,
    base64.replace(/=+$/, ""),
    bytes.toString("base64url"),
    bytes.toString("hex"),
  ];
}

/** Returns the secrets with which an MCP server is started or reached. */
function secretsOf({ transport }: McpServer): string[] {
  switch (transport.case) {
    case "stdio":
      return Object.values(transport.value.env);
    case "http":
    case "sse": {
      const { url, headers } = transport.value;
      // The token of a header without its scheme is a secret as well.
      const words = Object.values(headers).flatMap((value) => [
        value,
        ...value.split(/\s+/),
      ]);
      const address = URL.parse(url);
      if (!address) return words;
      const { username, password, searchParams } = address;
      return [
        ...words,
        ...[username, password].flatMap((part) => [part, decoded(part)]),
        ...searchParams.values(),
      ];
    }
    case undefined:
      return [];
    default:
      return transport satisfies never;
  }
}

/** Decodes percent-encoded text. Returns the text itself if it is not valid. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
