/**
 * Lists phrases that a reader stumbles over, in every text file of the
 * repository: each with what to write instead.
 *
 *     node scripts/phrases.ts
 *
 * Exits with 1 when it finds one. Fixed words of others (recordings, licences,
 * the change log) are not read.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A phrase of a file that has a plainer form. */
export interface Finding {
  readonly line: number;
  readonly phrase: string;
  readonly remedy: string;
}

const RULES: readonly { readonly pattern: RegExp; readonly remedy: string }[] =
  [
    {
      pattern: /\bso\s(?:many|large|high)\b(?!\s(?:as|that))/gi,
      remedy: "say what it is: maximum, limit, number, share",
    },
    {
      pattern: /\bso\slong\b(?!\s(?:as|that))/gi,
      remedy: "say what it is: a timeout, a duration, an interval",
    },
    {
      pattern:
        /(?<!\b(?:there|here|which|where)\s)\bis\sno\s(?!longer|more|less|such|need|way|point|other|different|better)\w+/gi,
      remedy: "is not a …, is not valid …, is not one of …",
    },
    {
      pattern: /^[ \t]*Tells\s(?:whether|if|that)\b/gm,
      remedy: "Returns whether … (function), Whether … (field)",
    },
    {
      pattern: /\bWhat\san?\s[\w\s]+\sis\smade\sof\b/gi,
      remedy: "Dependencies of …, or no comment",
    },
    {
      pattern: /\b(?:who|anybody|nobody|whoever)\s(?:is|are)\slet\sin\b/gi,
      remedy: "authentication, may call",
    },
    {
      pattern: /\bwent\saway\b/gi,
      remedy: "disconnected, closed the connection",
    },
    { pattern: /\bmay\snothing\b/gi, remedy: "has no rights" },
  ];

/** The beginning of a line that goes on with a comment. */
const MARKER = /^[ \t]*(?:\/\*\*|\*|\/\/|#)[ \t]*/gm;

/**
 * Returns the phrases of a text, in the order of the lines. A phrase is found
 * where a comment breaks it into two lines, too.
 */
export function findPhrases(source: string): Finding[] {
  const text = source.replaceAll(MARKER, "");
  const found = RULES.flatMap(({ pattern, remedy }) =>
    [...text.matchAll(pattern)].map((match) => ({
      at: match.index,
      phrase: match[0].trim(),
      remedy,
    })),
  );
  const ordered = found.toSorted((one, other) => one.at - other.at);
  return ordered.map(({ at, phrase, remedy }) => ({
    line: text.slice(0, at).split("\n").length,
    phrase,
    remedy,
  }));
}

const READ =
  /\.(?:ts|proto|md|go|rs|py|java|kt|cs|dart|swift|yaml)$|^\.ci\/run$/;
/** Words of others, recordings, and what this list itself quotes. */
const NOT_READ =
  /(?:^|\/)(?:gen|kept|recorded|CHANGELOG\.md)(?:\/|$)|^scripts\/phrases\.ts$|^test\/house\/phrases\.test\.ts$/;

function main(): void {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const paths = execFileSync("git", ["ls-files"], {
    cwd: root,
    encoding: "utf8",
  })
    .trim()
    .split("\n");
  let count = 0;
  for (const path of paths.filter(
    (path) => READ.test(path) && !NOT_READ.test(path),
  )) {
    for (const { line, phrase, remedy } of findPhrases(
      readFileSync(root + path, "utf8"),
    )) {
      count++;
      console.log(`${path}:${line}: "${phrase}": ${remedy}`);
    }
  }
  if (count > 0) process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
