/**
 * Why a command cannot be run as asked.
 *
 * - `unavailable`: the requested sandbox does not work on this machine.
 * - `cannot-confine`: the sandbox cannot confine this workspace or program.
 * - `replaced`: something changed the workspace while the command was starting.
 *   Nothing of the command has run.
 * - `missing-program`: a program is not installed where only root and this user
 *   can change it.
 */
export type SandboxErrorReason =
  | "unavailable"
  | "cannot-confine"
  | "replaced"
  | "missing-program";

/**
 * The only error that this package throws on purpose, or rejects with.
 *
 * Its message is `problem: remedy`, or the problem alone, and contains no
 * secret.
 */
export class SandboxError extends Error {
  override readonly name = "SandboxError";

  /** What the user can do; empty when nothing is known to help. */
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

/**
 * Returns the error for a path that another process renamed or replaced between
 * planning a sandbox and starting the command in it.
 */
export function replacedError(path: string): SandboxError {
  const problem = `${JSON.stringify(path)} was renamed or replaced while the command was starting`;
  return new SandboxError(problem, "replaced", {
    remedy: "run the command again",
  });
}
