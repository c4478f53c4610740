import { errorWords } from "@devtool/internal/error-words";
import type { McpServer } from "@devtool/schema";
import { describeError } from "./describe-error.ts";

/**
 * The minimum length of a value that is hidden everywhere. A shorter one is
 * hidden only within the address: it may be an ordinary word.
 */
const MIN_LENGTH = 8;

/**
 * The secrets with which a server is started or reached: the values of its
 * environment, its headers and its address.
 *
 * The server may repeat them, for instance in an error, and what it sends goes
 * to users, models and logs (S12).
 */
export class ServerSecrets {
  /** The texts that are replaced, and their replacements. */
  readonly #replacements: ReadonlyMap<string, string>;

  constructor(server: Pick<McpServer, "transport">) {
    const named = findSecrets(server).filter(
      ([, value]) => value.length >= MIN_LENGTH,
    );
    // The longest first, because one value may be a part of another.
    const sorted = named.sort(
      ([, one], [, other]) => other.length - one.length,
    );
    this.#replacements = new Map([
      ...sorted.map(([name, value]) => [value, `[${name}]`] as const),
      ...shortSecretsInUrl(server),
    ]);
  }

  /** Returns the text with each secret replaced by its name in brackets. */
  hide(text: string): string {
    let hidden = text;
    for (const [value, name] of this.#replacements) {
      hidden = hidden.replaceAll(value, name);
    }
    return hidden;
  }

  /** Returns a message of the server, which is plain JSON, without secrets. */
  hideIn<T>(answer: T): T {
    if (this.#replacements.size === 0) return answer;
    const text = JSON.stringify(answer);
    const hidden = this.hide(text);
    if (hidden === text) return answer;
    const copy: T = JSON.parse(hidden);
    return copy;
  }

  /**
   * Returns the error if its message contains no secret, otherwise a new one
   * without its cause.
   */
  hideInError(reason: unknown): unknown {
    if (!(reason instanceof Error)) return reason;
    // A description may cut the data within a secret.
    const data = "data" in reason ? (reason.data ?? null) : null;
    const visible = this.hideIn(data);
    if (visible !== data) {
      return new Error(errorWords(this.hide(reason.message), visible));
    }
    const description = describeError(reason);
    const hidden = this.hide(description);
    return hidden === description ? reason : new Error(hidden);
  }
}

/** The name of a secret, which is shown in its place, and its value. */
type NamedValue = readonly [name: string, value: string];

function findSecrets({
  transport,
}: Pick<McpServer, "transport">): NamedValue[] {
  switch (transport.case) {
    case "stdio":
      return Object.entries(transport.value.env);
    case "http":
    case "sse": {
      const { url, headers } = transport.value;
      // A header is a secret as a whole, and so is each word of it: the token
      // without its scheme.
      const inHeaders = Object.entries(headers).flatMap(([name, value]) =>
        [value, ...value.split(/\s+/)].map((word): NamedValue => [name, word]),
      );
      const address = URL.parse(url);
      if (!address) return inHeaders;
      // User, password and parameters of the address are secrets, each as it is
      // and in its other encoding.
      const { username, password, searchParams } = address;
      return [
        ...inHeaders,
        ...[username, password].flatMap((value): NamedValue[] => [
          ["user", value],
          ["user", decoded(value)],
        ]),
        ...[...searchParams].flatMap(([name, value]): NamedValue[] => [
          [name, value],
          [name, encodeURIComponent(value)],
        ]),
      ];
    }
    case undefined:
      return [];
    default:
      return transport satisfies never;
  }
}

/**
 * Returns the values of an address together with the characters around them, so
 * that short values are hidden in addresses only.
 */
function shortSecretsInUrl({
  transport,
}: Pick<McpServer, "transport">): (readonly [string, string])[] {
  const address =
    transport.case === "http" || transport.case === "sse"
      ? URL.parse(transport.value.url)
      : null;
  if (!address) return [];
  const { username, password, searchParams } = address;
  return [
    ...(password === "" ? [] : [[`:${password}@`, ":[user]@"] as const]),
    ...(username === ""
      ? []
      : [":", "@"].map(
          (end) => [`//${username}${end}`, `//[user]${end}`] as const,
        )),
    ...[...searchParams].flatMap(([name, value]) =>
      ["?", "&"].flatMap((begin) =>
        [value, encodeURIComponent(value)]
          .filter((text) => text !== "")
          .map(
            (text) =>
              [`${begin}${name}=${text}`, `${begin}${name}=[${name}]`] as const,
          ),
      ),
    ),
  ];
}

/** Decodes percent-encoded text. Returns the text itself if it is not valid. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
