/**
 * Why nothing can be run as it was asked: `unavailable` when the sandbox that was named does not work here, `cannot-confine` for a
 * workspace or a program that it cannot confine, `missing-program` when a program is not installed where only root and this
 * user can change it.
 */
export type SandboxErrorReason = "unavailable" | "cannot-confine" | "missing-program";

/** The one error that this package throws on purpose. Its message is `problem: remedy`, or the problem alone, and holds no secret. */
export class SandboxError extends Error {
  override readonly name = "SandboxError";

  /** What helps; empty when nothing is known to. */
  readonly remedy: string;

  constructor(
    readonly problem: string,
    readonly reason: SandboxErrorReason,
    { remedy = "" }: { readonly remedy?: string } = {},
  ) {
    super(remedy === "" ? problem : `${problem}: ${remedy}`);
    this.remedy = remedy;
  }
}
