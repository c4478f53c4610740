/**
 * Why a policy refuses: `invalid` for a file, rule or pattern that cannot be used, `cannot-save` for an approval that can only
 * be given once, `not-written` when the file of approvals cannot be written.
 */
export type PolicyErrorReason = "invalid" | "cannot-save" | "not-written";

/** What a `PolicyError` carries beside its problem and reason. */
export interface PolicyErrorOptions {
  readonly cause?: unknown;
  /** What helps, as the end of a sentence. Default: empty, when nothing is known to help. */
  readonly remedy?: string;
}

/**
 * The one error that this package throws on purpose. Its message is `problem: remedy`, or the problem alone; it names the
 * file, the rule and the field, and holds no secret.
 */
export class PolicyError extends Error {
  override readonly name = "PolicyError";

  /** What helps; empty when nothing is known to. */
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
