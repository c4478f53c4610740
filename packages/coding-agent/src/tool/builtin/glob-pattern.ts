import { invalid } from "@devtool/server/agent";
import { RE2JS } from "re2js";

const MAX_PATTERN_LENGTH = 1000;

/** Tells which paths match a glob pattern. */
export type GlobPattern = (path: string) => boolean;

/** One of: an escape, `**` for directories, `**` for what lies below, `*`, `?`, a class, a sign of braces, text. */
const TOKEN =
  /\\(?<escaped>.)|(?<directories>(?<![^/{,])\*\*\/)|(?<below>(?<![^/{,])\*\*(?![^/,}]))|(?<star>\*+)|(?<one>\?)|\[(?<not>[!^]?)(?<members>(?:\\.|[^\]\\])+)\]|(?<brace>[{},])|(?<text>[^\\*?[{},]+|.)/gsu;

/**
 * Compiles a glob pattern of whole paths: `*` and `?` stop at `/`, `**` goes over directories, `[a-z]` and `[!a-z]` stand for
 * one character, `{a,b}` for either. Matching takes time proportional to the path, whatever the pattern. Throws
 * `Code.InvalidArgument` that names the argument.
 */
export function compileGlob(argument: string, pattern: string): GlobPattern {
  if (pattern === "" || pattern.length > MAX_PATTERN_LENGTH)
    throw invalid(argument, pattern.slice(0, 40), `has 0 or over ${MAX_PATTERN_LENGTH} characters`);
  try {
    const compiled = RE2JS.compile(expressionOf(pattern.replace(/^(\.\/)+/, "")), RE2JS.DOTALL);
    return (path) => compiled.testExact(path);
  } catch {
    throw invalid(argument, pattern, "is not a valid glob pattern", "close each brace, and give each range as [a-z]");
  }
}

function expressionOf(pattern: string): string {
  let openBraces = 0;
  return pattern.replace(TOKEN, (...match) => {
    const { escaped, directories, below, star, one, not, members, brace, text } = match.at(-1);
    if (directories) return "(?:.*/)?";
    if (below) return ".*";
    if (star) return "[^/]*";
    if (one) return "[^/]";
    if (members !== undefined) return `[${not ? "^/" : ""}${members.replace(/[[^&~]/g, "\\$&")}]`;
    if (brace === "{") openBraces++;
    if (brace !== undefined && openBraces > 0) {
      if (brace === "}") openBraces--;
      return BRACES[brace] ?? "";
    }
    return RE2JS.quote(escaped ?? brace ?? text);
  });
}

const BRACES: Readonly<Record<string, string>> = { "{": "(?:", ",": "|", "}": ")" };
