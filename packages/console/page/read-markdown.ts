import { Lexer, type Token } from "marked";

/**
 * Maximum nesting of Markdown. Browsers lay out nested elements by recursion,
 * and a tab ends when that goes too deep.
 */
export const MAX_DEPTH = 64;

/** Maximum length of a block that is read as Markdown, in characters. */
const MAX_BLOCK_LENGTH = 20_000;

/**
 * Maximum length of a word, in characters. Marked looks for an address from
 * each place in it.
 */
const MAX_WORD_LENGTH = 2000;

/**
 * Maximum work for the marks of a block: 500 marks in one paragraph, or 50
 * marks in each of 100 list items.
 */
const MAX_MARK_WORK = 500 ** 2;

/**
 * A mark that may open or close emphasis or an image. An underscore within a
 * word is none.
 */
const MARK = /\*+|~+|!|(?<![\p{L}\p{N}_])_+|_+(?![\p{L}\p{N}_])/gu;

/**
 * A line that opens more quotes and lists, one in the other, than may be
 * nested.
 */
const TOO_DEEP = new RegExp(
  String.raw`^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])[ \t])){${MAX_DEPTH + 1}}`,
  "m",
);

/**
 * Divides a text into its blocks: paragraphs, lists, tables, code.
 *
 * Throws a `RangeError` for a line that opens too many levels.
 */
export function readBlocks(text: string): string[] {
  if (TOO_DEEP.test(text)) throw tooDeep();
  return new Lexer()
    .blockTokens(text.replaceAll(/\r\n?/g, "\n"))
    .map(({ raw }) => raw);
}

/**
 * Reads a block. Returns undefined for one that takes too long: the page would
 * stop each time that the block grows.
 */
export function readBlock(text: string): Token[] | undefined {
  if (text.length > MAX_BLOCK_LENGTH) return undefined;
  const lexer = new Lexer();
  const tokens = lexer.blockTokens(text);
  // The texts of paragraphs, list items and cells of tables, which are still to
  // be read.
  const texts = lexer.inlineQueue;
  // For each mark that closes, marked looks through the rest of the text again.
  const work = texts.reduce(
    (sum, { src }) => sum + (src.match(MARK)?.length ?? 0) ** 2,
    0,
  );
  const hasLongWord = texts.some(({ src }) =>
    src.split(/\s+/).some((word) => word.length > MAX_WORD_LENGTH),
  );
  if (work > MAX_MARK_WORK || hasLongWord) return undefined;
  for (const { src, tokens } of texts) lexer.inlineTokens(src, tokens);
  return tokens;
}

/** The error for a text that is nested too deeply to be shown as Markdown. */
export function tooDeep(): RangeError {
  return new RangeError(`text is nested more than ${MAX_DEPTH} levels deep`);
}
