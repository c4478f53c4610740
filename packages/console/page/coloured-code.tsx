import type { ReactNode } from "react";
import { type ParseOptions, parse } from "sugar-high/core";
import { lang, languages } from "sugar-high/lang";

/**
 * The maximum length of a code that gets colours, in characters. What agents
 * write is hostile, and some of it takes the highlighter long.
 */
const MAX_LENGTH = 2000;

/** The kinds of tokens that have a colour of their own. */
const COLOURED: ReadonlySet<string> = new Set([
  "keyword",
  "string",
  "class",
  "entity",
  "comment",
]);

/**
 * A code with the colours of its language. It is shown as it is when the
 * language is not known, or the colours would change a character of it.
 *
 * @param language a name as in Markdown, or the extension of a file
 */
export function ColouredCode({
  text,
  language,
}: {
  readonly text: string;
  readonly language: string;
}): ReactNode {
  const lines = linesOf(text, language);
  if (!lines) return text;
  return lines.flatMap((tokens, row) => [
    row > 0 && "\n",
    ...tokens.map(({ type, value }, column) =>
      COLOURED.has(type) ? (
        // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no other name
        <span key={`${row}.${column}`} className={`code-${type}`}>
          {value}
        </span>
      ) : (
        value
      ),
    ),
  ]);
}

interface CodeToken {
  readonly type: string;
  readonly value: string;
}

function linesOf(
  text: string,
  language: string,
): readonly (readonly CodeToken[])[] | undefined {
  const config = configOf(language);
  if (!config || text.length > MAX_LENGTH) return undefined;
  const lines = parse(text, config).lines.map(({ tokens }) => tokens);
  const shown = lines
    .map((tokens) => tokens.map(({ value }) => value).join(""))
    .join("\n");
  return shown === text ? lines : undefined;
}

function configOf(language: string): ParseOptions | undefined {
  const id = lang(language);
  return languages.find((known) => known.id === id)?.config;
}
