import {
  lexer,
  type MarkedToken,
  type Token,
  type Tokens,
  walkTokens,
} from "marked";
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";
import { type LineStyle, type Paint, visible } from "../render/style.ts";

/**
 * Renders a Markdown text as blocks of lines for the terminal: paragraphs,
 * headings, lists, tables, code.
 *
 * Characters that would change the terminal are shown as their codes, wherever
 * they stand. The target of a link follows its text.
 */
export function renderMarkdown(text: string, style: LineStyle): string[][] {
  const tokens = lexer(text.replaceAll("\r\n", "\n"));
  // All strings of tokens are escaped, whatever they are for: the lexer decodes
  // entities such as `&#27;`. `walkTokens` returns what the callback returns,
  // which is nothing to wait for.
  void walkTokens(tokens, (token) => {
    for (const [name, value] of Object.entries(token)) {
      if (typeof value === "string") {
        Object.assign(token, { [name]: visible(value) });
      }
    }
  });
  return tokens
    .map((token) => blockLines(token, style))
    .filter((lines) => lines.length > 0);
}

/**
 * The beginning of a growing Markdown text that further text cannot change any
 * more.
 */
export interface SettledText {
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

function blockLines(token: Token, style: LineStyle): string[] {
  if (!isKnown(token)) return wrapped(token.raw, style);
  const { paint, columns } = style;
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "heading":
      return wrapped(
        paint(
          "heading",
          `${"#".repeat(token.depth)} ${inline(token.tokens, paint)}`,
        ),
        style,
      );
    case "paragraph":
    case "text":
      return wrapped(
        token.tokens ? inline(token.tokens, paint) : token.text,
        style,
      );
    case "code": {
      const inner = narrower(style, 2);
      const lines = token.text.replaceAll("\t", "    ").split("\n");
      const pieces = lines.flatMap((line) =>
        wrapAnsi(line, inner.columns, VERBATIM).split("\n"),
      );
      const label = token.lang
        ? [paint("dim", token.lang.slice(0, inner.columns))]
        : [];
      return indented(
        [...label, ...pieces.map((piece) => paint("code", piece))],
        "  ",
      );
    }
    case "blockquote":
      return indented(
        childLines(token.tokens, narrower(style, 2)),
        paint("dim", "│ "),
      );
    case "list":
      return token.items.flatMap((item, index) => {
        const marker = token.ordered
          ? `${Number(token.start || 1) + index}. `
          : "• ";
        return itemLines(item, marker, style);
      });
    case "table":
      return tableLines(token, style);
    case "hr":
      return [paint("dim", "─".repeat(Math.min(columns, 40)))];
    default:
      return wrapped(token.raw.trimEnd(), style);
  }
}

/**
 * Returns whether a token is one of Markdown's own. All are, since no extension
 * is installed; their type has those of extensions, too.
 */
function isKnown(token: Token): token is MarkedToken {
  return token.type !== "";
}

function childLines(tokens: readonly Token[], style: LineStyle): string[] {
  return tokens.flatMap((token) => blockLines(token, style));
}

function itemLines(
  { tokens, task, checked }: Tokens.ListItem,
  marker: string,
  style: LineStyle,
): string[] {
  const box = checked ? "[x] " : "[ ] ";
  const first = task ? `${marker}${box}` : marker;
  const content = tokens.filter(({ type }) => type !== "checkbox");
  const [line = "", ...rest] = childLines(
    content,
    narrower(style, first.length),
  );
  return [`${first}${line}`, ...indented(rest, " ".repeat(marker.length))];
}

function tableLines(
  { header, rows }: Tokens.Table,
  { paint, columns }: LineStyle,
): string[] {
  const cells = [header, ...rows].map((row) =>
    row.map((cell) => inline(cell.tokens, paint)),
  );
  let widths = header.map((_, index) =>
    Math.max(1, ...cells.map((row) => stringWidth(row[index] ?? ""))),
  );
  // Columns are narrowed until they fit, the widest first.
  const available = columns - 3 * (header.length - 1);
  while (widths.reduce((sum, width) => sum + width, 0) > available) {
    const widest = Math.max(...widths);
    if (widest <= 3) break;
    widths = widths.with(widths.indexOf(widest), widest - 1);
  }
  const divider = widths.map((width) => "─".repeat(width)).join("─┼─");
  const [head = [], ...body] = cells.map((row) => rowLines(row, widths));
  return [
    ...head.map((line) => paint("strong", line)),
    paint("dim", divider),
    ...body.flat(),
  ];
}

function rowLines(row: readonly string[], widths: readonly number[]): string[] {
  const cells = widths.map((width, index) =>
    wrapAnsi(row[index] ?? "", width, { hard: true }).split("\n"),
  );
  const height = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, at) => {
    const padded = cells.map(({ [at]: text = "" }, index) => {
      return (
        text + " ".repeat(Math.max(0, (widths[index] ?? 0) - stringWidth(text)))
      );
    });
    return padded.join(" │ ");
  });
}

function inline(tokens: readonly Token[], paint: Paint): string {
  return tokens.map((token) => inlineText(token, paint)).join("");
}

function inlineText(token: Token, paint: Paint): string {
  if (!isKnown(token)) return token.raw;
  switch (token.type) {
    case "strong":
      return paint("strong", inline(token.tokens, paint));
    case "em":
      return paint("emphasis", inline(token.tokens, paint));
    case "del":
      return paint("struck", inline(token.tokens, paint));
    case "codespan":
      return paint("code", token.text);
    case "br":
      return "\n";
    case "link": {
      const text = inline(token.tokens, paint);
      const target =
        token.href === token.text || token.href === `mailto:${token.text}`
          ? ""
          : ` (${token.href})`;
      return `${paint("link", text)}${paint("dim", target)}`;
    }
    case "image":
      return `[image: ${token.text || token.href}] (${token.href})`;
    case "text":
      return token.tokens ? inline(token.tokens, paint) : token.text;
    case "escape":
      return token.text;
    default:
      return token.raw;
  }
}

const VERBATIM = { hard: true, wordWrap: false, trim: false } as const;

function wrapped(text: string, { columns }: LineStyle): string[] {
  return wrapAnsi(text.trimEnd(), columns, { hard: true }).split("\n");
}

function indented(lines: readonly string[], indent: string): string[] {
  return lines.map((line) => `${indent}${line}`);
}

function narrower({ paint, columns }: LineStyle, by: number): LineStyle {
  return { paint, columns: Math.max(4, columns - by) };
}
