/** An invalid command line. The exit code is then that of a usage error. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Returns the message of a thrown value, which need not be an `Error`. */
export function errorMessage(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}

/**
 * Returns the code of an error of the operating system, such as `ENOENT`;
 * undefined when there is none.
 */
export function errorCode(reason: unknown): unknown {
  return reason instanceof Error && "code" in reason ? reason.code : undefined;
}
