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
  /-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)/gs,
  // Not within such a run: each start would read to its end.
  /(?<=^|[^\w-]|\\[nrt])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])(sk|rk|pk)[-_][\w-]{16,}/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])(gh[pousr]|github_pat|glpat|npm|xox[abeprs]|hf|whsec|pypi|dop_v1)[-_][\w-]{16,}/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])dapi[0-9a-f]{32}/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])SG\.[\w.-]{16,}/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])AGE-SECRET-KEY-1\w{16,}/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])\d{6,12}:AA[\w-]{30,}/g,
  /(?<=\/(?:services|webhooks)\/[\w/]{1,64}\/)[\w-]{16,}/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])(AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])AIza[\w-]{30,}/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])ya29\.[\w-]{16,}/g,
  /(?<=^|[^A-Za-z0-9]|\\[nrt])(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi,
  /(?<=:\/{1,2}[^\s/:@"]{0,64}:)[^\s/@"]{1,4096}(?=@)/g,
  /(?<=:\/{1,2})[^\s/:@"]{16,4096}(?=@)/g,
];

/** The end of names whose values are credentials, such as `refreshToken`. */
const NAMES =
  "passw(?:or)?d|passphrase|secret|token|credentials?|authorization|(?:api|access|account|private|secret)[-_ ]?key";

/** A value after such a name: in a file of settings, a URL or JSON. */
const NAMED_VALUE = new RegExp(
  `((?:${NAMES})[\\\\"']{0,4}\\s{0,4}[:=]\\s{0,4}[\\\\"']{0,4})[^\\s\\\\"',;&]{4,}`,
  "gi",
);

/** Headers whose whole values are credentials: a scheme comes before some. */
const HEADERS =
  /((?:authorization["'\\]{0,4}\s{0,4}[:=]\s{0,4}["'\\]{0,4}|cookie:\s{0,4}))[^\r\n"'\\]{4,}/gi;

const SECRET_FIELD = new RegExp(`(?:${NAMES})$`, "i");

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
    for (const named of [HEADERS, NAMED_VALUE]) {
      shown = shown.replace(named, `$1${HIDDEN}`);
    }
    return shown;
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
