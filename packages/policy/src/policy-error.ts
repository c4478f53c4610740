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

/** Creates the error about a policy file. */
export function fileError(
  file: string,
  problem: string,
  options: PolicyErrorOptions = {},
): PolicyError {
  return new PolicyError(
    `policy file ${JSON.stringify(file)} ${problem}`,
    "invalid",
    options,
  );
}
