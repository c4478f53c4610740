import { setTimeout as delay } from "node:timers/promises";
import { Code, DevtoolError } from "@devtool/server/agent";

/** How often work is tried that loses its connection. */
const MAX_TRIES = 60;
/** The time between these, in milliseconds. */
const RETRY_MS = 500;

/** The end of a try whose connection to the database was lost. */
export class LostConnection extends Error {
  constructor(cause: unknown) {
    super("the connection was lost", { cause });
  }
}

/**
 * Returns whether a statement failed since its connection was lost, or none was
 * to be had: by the code of PostgreSQL or of the system, or by the message where
 * `pg` gives no code.
 */
export function isLostConnection(reason: unknown): boolean {
  if (reason instanceof AggregateError) {
    return reason.errors.some(isLostConnection);
  }
  if (!(reason instanceof Error)) return false;
  return "code" in reason && reason.code !== undefined
    ? CODES.test(String(reason.code))
    : MESSAGES.test(reason.message);
}

const CODES =
  /^(08...|57P..|53300|ECONN[A-Z]+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|ENOENT)$/;
const MESSAGES =
  /^(Connection terminated|Client (was closed|has encountered a connection error)|timeout exceeded when trying to connect)/;

/**
 * Tries until a try does not reject with `LostConnection`.
 *
 * Rejects with the signal's reason when it aborts between two tries, and with
 * `Code.Unavailable` when all of them lose their connection.
 */
export async function overConnections<T>(
  attempt: () => Promise<T>,
  signal: AbortSignal,
  {
    maxTries = MAX_TRIES,
    retryMs = RETRY_MS,
  }: { readonly maxTries?: number; readonly retryMs?: number } = {},
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (reason) {
      if (!(reason instanceof LostConnection)) throw reason;
      if (tries === maxTries) {
        throw new DevtoolError(
          `DBOS has lost its connection ${maxTries} times`,
          Code.Unavailable,
          {
            remedy: "resume the run once the database can be reached",
            cause: reason.cause,
          },
        );
      }
      await delay(retryMs, undefined, { signal }).catch(() =>
        signal.throwIfAborted(),
      );
    }
  }
}
