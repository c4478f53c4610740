import { Code, DevtoolError } from "@devtool/server/store";
import { DatabaseError } from "pg";

/** The error codes of PostgreSQL that have a meaning of their own here. */
const DISK_FULL = "53100";
const READ_ONLY = "25006";

/**
 * Returns whether a statement failed because another transaction was in its
 * way. It can be run again.
 */
export function isConflict(reason: unknown): boolean {
  return (
    reason instanceof DatabaseError &&
    (reason.code === "40P01" || reason.code === "40001")
  );
}

/**
 * Returns whether a statement failed because the server could not be reached or
 * did not take it: it stops, starts, or has no connection left.
 */
export function isOutage(reason: unknown): boolean {
  return (
    !(reason instanceof DevtoolError) &&
    (!(reason instanceof DatabaseError) ||
      /^(08|57P0|53300)/.test(reason.code ?? ""))
  );
}

/**
 * Converts the error of a failed statement. Returns a `DevtoolError` as it is.
 */
export function storeError(reason: unknown): DevtoolError {
  if (reason instanceof DevtoolError) return reason;
  const code = reason instanceof DatabaseError ? reason.code : undefined;
  if (code === DISK_FULL) {
    return new DevtoolError(
      "the disk of PostgreSQL is full",
      Code.ResourceExhausted,
      {
        remedy: "free some space and try again",
        cause: reason,
      },
    );
  }
  const problem =
    code === READ_ONLY
      ? "the database is read-only"
      : "the store cannot be reached";
  return new DevtoolError(problem, Code.Unavailable, {
    remedy: "try again in a moment",
    cause: reason,
  });
}

/**
 * The problem and the remedy when a store cannot be opened, by the code of the
 * error.
 */
const OPEN_PROBLEMS: Readonly<
  Record<string, readonly [problem: string, remedy: string]>
> = {
  ECONNREFUSED: [
    "refuses connections",
    "start PostgreSQL, or correct host and port",
  ],
  ENOENT: [
    "has no socket there",
    "start PostgreSQL, or correct the directory of its socket",
  ],
  EACCES: [
    "has a socket that this user may not use",
    "correct the rights of the directory of its socket",
  ],
  ENOTFOUND: ["has a host name that is not known", "correct the host"],
  EAI_AGAIN: [
    "has a host name that cannot be resolved now",
    "correct the host, or try again",
  ],
  ETIMEDOUT: ["does not answer", "correct host and port, or open the firewall"],
  "28P01": ["refuses the password", "correct user and password"],
  "28000": [
    "refuses this user",
    "correct the user, or allow it in pg_hba.conf",
  ],
  "3D000": ["has no such database", "create it, for instance with createdb"],
  "25006": ["is read-only", "connect to the primary server"],
  "42501": [
    "denies this user a right",
    "let the user own the database, or GRANT CREATE ON DATABASE to it",
  ],
  "53300": [
    "has no connection left",
    "raise max_connections, or lower the store's maximum of connections",
  ],
  "57P03": ["is starting or stopping", "try again in a moment"],
};

/**
 * Converts the error with which opening a store failed, to
 * `Code.FailedPrecondition`. Returns a `DevtoolError` as it is.
 *
 * @param place the server and the database, without credentials
 */
export function openError(place: string, reason: unknown): DevtoolError {
  if (reason instanceof DevtoolError) return reason;
  const known = codesOf(reason).flatMap((code) =>
    [OPEN_PROBLEMS[code] ?? []].filter((found) => found.length > 0),
  )[0];
  const message = reason instanceof Error ? reason.message : String(reason);
  const [problem, remedy] = known ?? [
    `cannot be opened: ${message}`,
    "correct the URL of the store",
  ];
  return new DevtoolError(
    `PostgreSQL at ${place} ${problem}`,
    Code.FailedPrecondition,
    { remedy, cause: reason },
  );
}

/**
 * Returns the codes of an error: its own, and those of the attempts that it
 * sums up.
 */
function codesOf(reason: unknown): string[] {
  if (reason instanceof AggregateError) return reason.errors.flatMap(codesOf);
  return reason instanceof Error && "code" in reason
    ? [String(reason.code)]
    : [];
}
