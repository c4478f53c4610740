import type { McpServer } from "@devtool/schema";
import { messageOf } from "./message-of.ts";

/** A shorter value is hidden only where an address holds it: anywhere else, that would spoil ordinary words. */
const MIN_LENGTH = 8;

/**
 * The secrets that a server is started or reached with: the values of its environment, its headers and its address. A
 * server that tells of its failure may tell of them too, and what it says goes to users, models and logs (S12).
 */
export class ServerSecrets {
  /** What is looked for, and what is put in its place. */
  readonly #replacements: ReadonlyMap<string, string>;

  constructor(server: Pick<McpServer, "transport">) {
    const named = valuesOf(server).filter(([, value]) => value.length >= MIN_LENGTH);
    // The longest first: one may be a part of another.
    const sorted = named.sort(([, one], [, other]) => other.length - one.length);
    this.#replacements = new Map([
      ...sorted.map(([name, value]) => [value, `[${name}]`] as const),
      ...shortValuesInUrl(server),
    ]);
  }

  /** The text with the name of each secret in its place. */
  hide(text: string): string {
    let hidden = text;
    for (const [value, name] of this.#replacements) hidden = hidden.replaceAll(value, name);
    return hidden;
  }

  /** An answer of the server, which is plain JSON, without secrets. */
  hideIn<T>(answer: T): T {
    if (this.#replacements.size === 0) return answer;
    const text = JSON.stringify(answer);
    const hidden = this.hide(text);
    if (hidden === text) return answer;
    const copy: T = JSON.parse(hidden);
    return copy;
  }

  /** An error that says nothing secret: the same one when it did not. */
  hideInError(reason: unknown): unknown {
    if (!(reason instanceof Error)) return reason;
    const words = messageOf(reason);
    const hidden = this.hide(words);
    return hidden === words ? reason : new Error(hidden);
  }
}

function valuesOf({ transport }: Pick<McpServer, "transport">): (readonly [name: string, value: string])[] {
  switch (transport.case) {
    case "stdio":
      return Object.entries(transport.value.env);
    case "http":
    case "sse":
      return [...Object.entries(transport.value.headers).flatMap(wordsOf), ...valuesInUrl(transport.value.url)];
    case undefined:
      return [];
    default:
      return transport satisfies never;
  }
}

/** A header as a whole, and what stands behind its scheme. */
function wordsOf([name, value]: readonly [string, string]): (readonly [string, string])[] {
  return [value, ...value.split(/\s+/)].map((word) => [name, word] as const);
}

function valuesInUrl(url: string): (readonly [string, string])[] {
  const address = URL.parse(url);
  if (!address) return [];
  const { username, password, searchParams } = address;
  return [
    ...[username, password].flatMap((value) => [["user", value] as const, ["user", decoded(value)] as const]),
    ...[...searchParams].flatMap(([name, value]) => [
      [name, value] as const,
      [name, encodeURIComponent(value)] as const,
    ]),
  ];
}

/** Values of an address that are too short to be hidden anywhere else, with what stands around them in it. */
function shortValuesInUrl({ transport }: Pick<McpServer, "transport">): (readonly [string, string])[] {
  const address = transport.case === "http" || transport.case === "sse" ? URL.parse(transport.value.url) : null;
  if (!address) return [];
  const { username, password, searchParams } = address;
  return [
    ...(password === "" ? [] : [[`:${password}@`, ":[user]@"] as const]),
    ...(username === "" ? [] : [":", "@"].map((end) => [`//${username}${end}`, `//[user]${end}`] as const)),
    ...[...searchParams].flatMap(([name, value]) =>
      ["?", "&"].flatMap((begin) =>
        [value, encodeURIComponent(value)]
          .filter((text) => text !== "")
          .map((text) => [`${begin}${name}=${text}`, `${begin}${name}=[${name}]`] as const),
      ),
    ),
  ];
}

/** The text as it is when it is no percent-encoded one. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
