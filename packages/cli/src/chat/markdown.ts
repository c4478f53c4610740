import { keepStart } from "@devtool/internal/cut-text";
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
        ? [paint("dim", keepStart(token.lang, inner.columns))]
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
export function isKnown(token: Token): token is MarkedToken {
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
