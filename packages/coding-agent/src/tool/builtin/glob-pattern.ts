import { keepStart } from "@devtool/internal/cut-text";
import { invalid } from "@devtool/server/agent";
import { RE2JS } from "re2js";

/** The maximum length of a pattern in characters. */
const MAX_PATTERN_LENGTH = 1000;

/** Returns whether a path matches a glob pattern. */
export type GlobPattern = (path: string) => boolean;

/**
 * Matches one token of a pattern: an escaped character, `**` before `/`, `**`
 * at the end of a part, `*`, `?`, a character class, a brace or comma, or text.
 */
const TOKEN =
  /\\(?<escaped>.)|(?<directories>(?<![^/{,])\*\*\/)|(?<below>(?<![^/{,])\*\*(?![^/,}]))|(?<star>\*+)|(?<one>\?)|\[(?<not>[!^]?)(?<members>(?:\\.|[^\\])(?:\\.|[^\]\\])*)\]|(?<brace>[{},])|(?<text>[^\\*?[{},]+|.)/gsu;

/**
 * Compiles a glob pattern that matches whole paths.
 *
 * `*` and `?` match characters except `/`, `**` matches any number of
 * directories, `[a-z]` and `[!a-z]` match one character, and `{a,b}` matches
 * either part. Matching takes time proportional to the length of the path, for
 * every pattern.
 *
 * Throws `Code.InvalidArgument` for an invalid pattern. `argument` is the name
 * of the argument in the message.
 */
export function compileGlob(argument: string, pattern: string): GlobPattern {
  if (pattern === "" || pattern.length > MAX_PATTERN_LENGTH) {
    throw invalid(
      argument,
      keepStart(pattern, 40),
      `has 0 or over ${MAX_PATTERN_LENGTH} characters`,
    );
  }
  try {
    const compiled = RE2JS.compile(
      toRegularExpression(pattern.replace(/^(\.\/)+/, "")),
      RE2JS.DOTALL,
    );
    return (path) => compiled.testExact(path);
  } catch {
    throw invalid(
      argument,
      pattern,
      "is not a valid glob pattern",
      "close each brace, and give each range as [a-z]",
    );
  }
}

/**
 * Compiles a glob pattern for paths that may contain the characters of
 * patterns: `app/[id]/*.ts`.
 *
 * The beginning of the pattern is a path, as far as `exists` finds it. Behind
 * it, brackets match as a character class and also as they are written. A `*`
 * is always a wildcard, so that a file of that name hides no others.
 */
export function compilePathGlob(
  argument: string,
  pattern: string,
  exists: (path: string) => boolean,
): GlobPattern {
  const segments = pattern.replace(/^(\.\/)+/, "").split("/");
  const known = segments.findIndex(
    (segment, index) =>
      segment.includes("*") || !exists(segments.slice(0, index + 1).join("/")),
  );
  const path = segments
    .splice(0, known < 0 ? segments.length : known)
    .map((segment) => segment.replaceAll(/[\\?[\]{},]/g, "\\$&"));
  const rest = segments.map((segment) =>
    segment.replaceAll(/(?<!\\)[[\]]/g, "\\$&"),
  );
  const asWritten = compileGlob(argument, [...path, ...rest].join("/"));
  if (rest.join("/") === segments.join("/")) return asWritten;
  try {
    const matches = compileGlob(argument, [...path, ...segments].join("/"));
    return (file) => matches(file) || asWritten(file);
  } catch {
    // As in `[post-id]`, which is no range.
    return asWritten;
  }
}

/** The regular expressions for braces and for commas in them. */
const BRACE_EXPRESSIONS: Readonly<Record<string, string>> = {
  "{": "(?:",
  ",": "|",
  "}": ")",
};

function toRegularExpression(pattern: string): string {
  let openBraces = 0;
  return pattern.replace(TOKEN, (...match) => {
    const {
      escaped,
      directories,
      below,
      star,
      one,
      not,
      members,
      brace,
      text,
    } = match.at(-1);
    if (directories) return "(?:.*/)?";
    if (below) return ".*";
    if (star) return "[^/]*";
    if (one) return "[^/]";
    if (members !== undefined) {
      const escaped = members.replace(/\\.|[[\]^&~]/gs, escapeMember);
      return `[${not ? "^/" : ""}${escaped}]`;
    }
    if (brace === "{") openBraces++;
    if (brace !== undefined && openBraces > 0) {
      if (brace === "}") openBraces--;
      return BRACE_EXPRESSIONS[brace] ?? "";
    }
    return RE2JS.quote(escaped ?? brace ?? text);
  });
}

/** Escapes a character that has a meaning in a class of RE2, but not here. */
function escapeMember(member: string): string {
  return member.startsWith("\\") ? member : `\\${member}`;
}
