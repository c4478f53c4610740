import { TomlError } from "smol-toml";

/**
 * Returns where a TOML file is malformed and how, for example `line 3, column
 * 7: invalid value`.
 *
 * The text is not quoted, as the message of the parser does: it may hold a
 * secret, and errors go into logs.
 */
export function tomlProblem(reason: unknown): string {
  const message = reason instanceof Error ? reason.message : String(reason);
  const [problem = ""] = message.split("\n", 1);
  if (!(reason instanceof TomlError)) return problem;
  const kind = problem.replace(/^Invalid TOML document: /, "");
  // The end of a line is the control character that people do not see.
  const hint = kind.startsWith("control characters are not allowed in strings")
    ? " (is the quote missing that ends the string?)"
    : "";
  return `line ${reason.line}, column ${reason.column}: ${kind}${hint}`;
}
