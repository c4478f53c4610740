import type { JsonValue } from "@bufbuild/protobuf";
import { splitJson } from "./exact-json.ts";
import { objectOrEmpty } from "./json.ts";

/** The maximum length of a value that is on several lines, in characters. */
const MAX_OPEN_LENGTH = 1024 * 1024;
/** The maximum number of those lines: each is parsed with all before it. */
const MAX_OPEN_LINES = 100;

/** How a line begins that holds messages, unlike `[info] {ready}`. */
const VALUE = /^\{|^\[\s*(\{|null\b|\])/;
/** How a message begins, and no line within one. */
const MESSAGE =
  /^(\[\s*)?\{\s*("id"\s*:[^,]*,\s*)?"(jsonrpc|method|result|error)"/;

const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/gs;
/** Returns a string of JSON with the line breaks that must be escaped. */
const escaped = (string: string): string => string.replaceAll("\n", "\\n");

/** What a line holds. */
export interface JsonLine {
  /** The values that the line completes. */
  readonly values: readonly JsonValue[];
  /** Texts that are not JSON. */
  readonly broken: readonly string[];
  /**
   * The beginning of a value at the line's end, which further lines may
   * complete. Empty for none.
   */
  readonly cut: string;
}

/**
 * Reads the messages of a program that writes one a line, as JSON.
 *
 * Several on a line are read too, also with other text between them, and one on
 * several lines. NUL bytes and byte order marks are skipped.
 */
export class JsonLines {
  readonly #parse: (text: string) => JsonValue | undefined;
  /** The lines of a value that is not whole yet. */
  #open: string[] = [];

  /** @param parse returns undefined for text that is not JSON */
  constructor(parse: (text: string) => JsonValue | undefined) {
    this.#parse = parse;
  }

  /** Reads a line. What `parse` throws passes through. */
  read(line: string): JsonLine {
    // The trim removes a byte order mark, too.
    const text = line.replaceAll("\0", "").trim();
    if (text === "") return { values: [], broken: [], cut: "" };
    const before = this.#open;
    this.#open = [];
    if (before.length === 0) return this.#split(text);
    const lines = [...before, text];
    if (!MESSAGE.test(text)) {
      const joined = this.#split(lines.join("\n").replaceAll(STRING, escaped));
      if (joined.values.length > 0) return joined;
      this.#open = [];
    }
    const own = this.#split(text);
    if (MESSAGE.test(text) || own.values.some(isMessage)) {
      return { ...own, broken: [before.join("\n"), ...own.broken] };
    }
    const length = lines.reduce((sum, each) => sum + each.length, 0);
    const isTooLong = lines.length > MAX_OPEN_LINES || length > MAX_OPEN_LENGTH;
    this.#open = isTooLong ? [] : lines;
    const broken = isTooLong ? [lines.join("\n")] : [];
    return { values: [], broken, cut: "" };
  }

  /** Reads the values in a text, and the beginning of one at its end. */
  #split(text: string): JsonLine {
    if (!VALUE.test(text)) return { values: [], broken: [text], cut: "" };
    const value = this.#parse(text);
    if (value !== undefined) return { values: [value], broken: [], cut: "" };
    const values: JsonValue[] = [];
    const broken: string[] = [];
    for (const part of splitJson(text)) {
      const read = this.#parse(part);
      if (read === undefined) {
        broken.push(part);
      } else {
        values.push(read);
      }
    }
    const last = broken.at(-1) ?? "";
    // What is cut takes what is put behind it.
    const isCut = text.endsWith(last) && splitJson(`${last}{}`).length === 1;
    if (last === "" || !isCut) return { values, broken, cut: "" };
    this.#open = [last];
    return { values, broken: broken.slice(0, -1), cut: last };
  }
}

/** Returns whether a value is a message of JSON-RPC, and no part of one. */
function isMessage(value: JsonValue): boolean {
  const { jsonrpc, method, id, result, error } = objectOrEmpty(value);
  return (
    jsonrpc !== undefined ||
    typeof method === "string" ||
    (id !== undefined && (result !== undefined || error !== undefined))
  );
}
