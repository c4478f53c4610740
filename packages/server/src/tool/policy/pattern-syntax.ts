import { Code, DevtoolError } from "../../errors.ts";

/** A pattern, taken apart. */
export type PatternNode =
  /** One character that is accepted. */
  | { readonly case: "one"; readonly accepts: (codePoint: number) => boolean }
  | { readonly case: "sequence"; readonly parts: readonly PatternNode[] }
  | { readonly case: "choice"; readonly parts: readonly PatternNode[] }
  /** Again and again; `max` is infinite for `*` and `+`. */
  | { readonly case: "repeat"; readonly part: PatternNode; readonly min: number; readonly max: number }
  /** The start of the text. */
  | { readonly case: "start" }
  /** The end of the text. */
  | { readonly case: "end" };

/** A pattern may have so many characters. */
const MAX_PATTERN_LENGTH = 512;
/** A count in braces may be so high. */
const MAX_COUNT = 100;

/**
 * Reads a pattern: JavaScript's syntax without what needs going back (back references, looking around, `\b`).
 * Throws `Code.InvalidArgument` that says where it ends to be one.
 */
export function parsePattern(text: string): PatternNode {
  if (text.length > MAX_PATTERN_LENGTH) throw wrong(text.slice(0, 40), `has ${text.length} characters: limit is 512`);
  const parser = new PatternParser(text);
  const node = parser.choice();
  if (!parser.isAtEnd) throw wrong(text, `has a ")" too many: write "\\)" for the character`);
  return node;
}

class PatternParser {
  readonly #text: string;
  readonly #characters: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#characters = [...text];
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#characters.length;
  }

  choice(): PatternNode {
    const parts = [this.#sequence()];
    while (this.#take("|")) parts.push(this.#sequence());
    return { case: "choice", parts };
  }

  #sequence(): PatternNode {
    const parts: PatternNode[] = [];
    while (!this.isAtEnd && this.#next !== "|" && this.#next !== ")") parts.push(this.#repeated());
    return { case: "sequence", parts };
  }

  #repeated(): PatternNode {
    const part = this.#atom();
    const count = this.#count();
    if (!count) return part;
    this.#take("?");
    if (this.#count()) throw this.#wrong("repeats a repetition: take one away");
    return { case: "repeat", part, ...count };
  }

  #count(): { readonly min: number; readonly max: number } | undefined {
    if (this.#take("*")) return { min: 0, max: Number.POSITIVE_INFINITY };
    if (this.#take("+")) return { min: 1, max: Number.POSITIVE_INFINITY };
    if (this.#take("?")) return { min: 0, max: 1 };
    if (!this.#take("{")) return undefined;
    const [, first, comma, second] = /^(\d+)(,?)(\d*)\}/.exec(this.#rest) ?? [];
    if (first === undefined) throw this.#wrong(`has a "{" that starts no count: write "\\{" for the character`);
    this.#at += first.length + (comma ?? "").length + (second ?? "").length + 1;
    const min = Number(first);
    const max = comma === "" ? min : second ? Number(second) : Number.POSITIVE_INFINITY;
    const highest = max === Number.POSITIVE_INFINITY ? min : max;
    if (highest > MAX_COUNT || max < min) throw this.#wrong(`has a count that is not between 0 and ${MAX_COUNT}`);
    return { min, max };
  }

  #atom(): PatternNode {
    if (this.#take("^")) return { case: "start" };
    if (this.#take("$")) return { case: "end" };
    if (this.#take("(")) return this.#group();
    if (this.#take("[")) return { case: "one", accepts: this.#class() };
    if (this.#take(".")) return { case: "one", accepts: (codePoint) => !LINE_ENDS.has(codePoint) };
    if (/^[*+?{]/.test(this.#rest)) throw this.#wrong("repeats nothing: put something before the sign");
    return { case: "one", accepts: this.#member().accepts };
  }

  #group(): PatternNode {
    if (this.#take("?") && !this.#take(":")) throw this.#wrong("looks around or names a group: write a plain group");
    const node = this.choice();
    if (!this.#take(")")) throw this.#wrong(`has an open "(": close it`);
    return node;
  }

  #class(): (codePoint: number) => boolean {
    const isNegated = this.#take("^");
    const members: ((codePoint: number) => boolean)[] = [];
    while (!this.#take("]")) {
      if (this.isAtEnd) throw this.#wrong(`has an open "[": close it`);
      members.push(this.#range());
    }
    return (codePoint) => members.some((accepts) => accepts(codePoint)) !== isNegated;
  }

  #range(): (codePoint: number) => boolean {
    const from = this.#member();
    if (from.codePoint === undefined || !/^-[^\]]/.test(this.#rest)) return from.accepts;
    this.#at++;
    const [first, last] = [from.codePoint, this.#member().codePoint ?? -1];
    if (last < first) throw this.#wrong("has a range that ends before it starts");
    return (codePoint) => codePoint >= first && codePoint <= last;
  }

  /** One character or one escape. */
  #member(): { readonly accepts: (codePoint: number) => boolean; readonly codePoint?: number } {
    const isEscape = this.#take("\\");
    const character = this.#next;
    if (character === undefined) throw this.#wrong("ends in the middle");
    this.#at++;
    if (isEscape && CLASSES.has(character)) return { accepts: CLASSES.get(character) ?? (() => false) };
    const meant = isEscape ? (CONTROLS.get(character) ?? character) : character;
    if (isEscape && meant === character && /[\dA-Za-z]/.test(character))
      throw this.#wrong(`has "\\${character}", which is not supported: choose \\d \\w \\s \\n \\t or a sign`);
    const codePoint = meant.codePointAt(0) ?? 0;
    return { accepts: (other) => other === codePoint, codePoint };
  }

  get #next(): string | undefined {
    return this.#characters[this.#at];
  }

  get #rest(): string {
    return this.#characters.slice(this.#at, this.#at + 10).join("");
  }

  #take(character: string): boolean {
    if (this.#next !== character) return false;
    this.#at++;
    return true;
  }

  #wrong(problem: string): DevtoolError {
    return wrong(this.#text, problem);
  }
}

const LINE_ENDS: ReadonlySet<number> = new Set([0x0a, 0x0d, 0x2028, 0x2029]);

const CONTROLS: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["0", "\0"],
]);

const CLASSES: ReadonlyMap<string, (codePoint: number) => boolean> = new Map(
  ["d", "D", "w", "W", "s", "S"].map((letter) => {
    const single = new RegExp(`^\\${letter}$`, "u");
    const accepts = (codePoint: number): boolean => single.test(String.fromCodePoint(codePoint));
    const ascii = Array.from({ length: 128 }, (_none, codePoint) => accepts(codePoint));
    return [letter, (codePoint: number) => ascii[codePoint] ?? accepts(codePoint)];
  }),
);

function wrong(pattern: string, problem: string): DevtoolError {
  return new DevtoolError(`pattern ${JSON.stringify(pattern)} ${problem}`, Code.InvalidArgument);
}
