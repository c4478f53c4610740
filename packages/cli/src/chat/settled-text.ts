import { lexer, type Token, type Tokens } from "marked";
import { isKnown } from "./markdown.ts";

/**
 * The beginning of a growing Markdown text that further text cannot change any
 * more.
 */
interface SettledText {
  /** The length of the beginning in characters. */
  readonly length: number;
  /**
   * Markdown that belongs before the rest, so that the rest is read as the
   * continuation of the same block: the fence of a code block, or the head of a
   * table. Empty for any other block.
   */
  readonly opening: string;
  /**
   * Whether the beginning ends inside a list or a code block, so that no blank
   * line follows it.
   */
  readonly isInBlock: boolean;
}

/**
 * Maximum number of lines of an unfinished block that are rendered again with
 * each piece of text.
 */
const MAX_OPEN_LINES = 60;

/**
 * Returns all blocks of a growing text but the last one, and of a long list,
 * table or code block at the end, all but its end.
 *
 * So the work for a block does not grow with the square of its length. The rest
 * of a long table begins with the table's head again, and has columns of its
 * own widths.
 */
export function settledText(text: string): SettledText {
  const complete = text.slice(0, text.lastIndexOf("\n") + 1);
  if (complete.includes("\r")) {
    return { length: 0, opening: "", isInBlock: false };
  }
  const tokens = lexer(complete);
  const last = tokens.findLastIndex(({ type }) => type !== "space");
  const blocks = tokens
    .slice(0, Math.max(last, 0))
    .reduce((length, { raw }) => length + raw.length, 0);
  const block = complete.slice(blocks);
  const token = tokens[last];
  const settled =
    token && block.split("\n").length > MAX_OPEN_LINES
      ? settledLines(token, block)
      : undefined;
  if (!settled) return { length: blocks, opening: "", isInBlock: false };
  return { ...settled, length: blocks + settled.length };
}

/**
 * Returns the beginning of an unfinished block that can be rendered without its
 * rest; undefined if the block is a whole.
 */
function settledLines(token: Token, block: string): SettledText | undefined {
  if (!isKnown(token)) return undefined;
  switch (token.type) {
    case "code":
      return settledCode(token, block);
    case "table": {
      // A table that has ended has its blank line in the block, but not in the
      // token.
      if (block !== token.raw) return undefined;
      // All rows but the last one. The next piece repeats the header.
      const head = block.slice(
        0,
        block.indexOf("\n", block.indexOf("\n") + 1) + 1,
      );
      const length = lastLineOf(block);
      return length > head.length
        ? { length, opening: head, isInBlock: false }
        : undefined;
    }
    case "list": {
      // All items but the last one, which keeps its number only if the number
      // is written: some lists number all of their items with 1.
      const items = token.items.slice(0, -1);
      const length = items.reduce((sum, { raw }) => sum + raw.length, 0);
      const written = /^ {0,3}(\d+)/.exec(block.slice(length))?.[1];
      const isNumbered =
        !token.ordered ||
        Number(written) === Number(token.start || 1) + items.length;
      return items.length > 0 && isNumbered
        ? { length, opening: "", isInBlock: true }
        : undefined;
    }
    default:
      return undefined;
  }
}

/**
 * Returns all lines of an open code block but the last one, and the blank lines
 * before it: the lexer adds one at the end of code.
 */
function settledCode(
  token: Tokens.Code,
  block: string,
): SettledText | undefined {
  const [, fence = "", marks = ""] =
    /^( {0,3}(`{3,}|~{3,}))/.exec(token.raw) ?? [];
  if (fence === "") return undefined;
  const [, ...lines] = token.raw.trimEnd().split("\n");
  const end = /^ {0,3}([`~]+) *$/.exec(lines.at(-1) ?? "")?.[1] ?? "";
  if (end.startsWith(marks)) return undefined;
  const length =
    block.indexOf(
      "\n",
      block.slice(0, lastLineOf(block) - 1).trimEnd().length,
    ) + 1;
  return length > block.indexOf("\n") + 1
    ? { length, opening: `${fence}\n`, isInBlock: true }
    : undefined;
}

/**
 * Returns the offset at which the last line of a block begins, which is left so
 * that the rest has content.
 */
function lastLineOf(block: string): number {
  return block.lastIndexOf("\n", block.length - 2) + 1;
}
