import { TomlError } from "smol-toml";

/**
 * Why this package refuses something.
 *
 * - `invalid`: a policy file, a rule or a pattern cannot be used.
 * - `cannot-save`: the call can only be approved once.
 * - `not-written`: the file of saved approvals could not be written.
 */
export type PolicyErrorReason = "invalid" | "cannot-save" | "not-written";

/** Optional parts of a `PolicyError`. */
export interface PolicyErrorOptions {
  readonly cause?: unknown;
  /** What the reader can do about the problem. Default: empty. */
  readonly remedy?: string;
}

/**
 * The only error that this package throws deliberately.
 *
 * The message is `problem: remedy`, or the problem alone when there is no
 * remedy. It names the file, the rule and the field, and contains no secret.
 */
export class PolicyError extends Error {
  override readonly name = "PolicyError";

  /**
   * What the reader can do about the problem; empty when nothing is known to
   * help.
   */
  readonly remedy: string;

  constructor(
    readonly problem: string,
    readonly reason: PolicyErrorReason,
    { cause, remedy = "" }: PolicyErrorOptions = {},
  ) {
    super(remedy === "" ? problem : `${problem}: ${remedy}`, { cause });
    this.remedy = remedy;
  }
}

/**
 * Returns the code that Node gives a caught error, such as `ENOENT`;
 * `unknown error` for any other value.
 */
export function errorCode(reason: unknown): string {
  return reason instanceof Error && "code" in reason
    ? String(reason.code)
    : "unknown error";
}

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
