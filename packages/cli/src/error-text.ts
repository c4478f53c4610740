import { Code, ConnectError } from "@connectrpc/connect";
import { errorMessage } from "./errors.ts";

/**
 * Returns an error message for users: the server's where there is one, without
 * protocol codes.
 */
export function userMessage(reason: unknown): string {
  if (!(reason instanceof ConnectError)) return errorMessage(reason);
  const isBare =
    reason.code === Code.Unavailable && !SAYS_WHY.test(reason.rawMessage);
  const problem = isBare ? rootOf(reason.cause) : undefined;
  if (problem !== undefined) return `the server cannot be reached: ${problem}`;
  return (
    reason.rawMessage ||
    WORDS[reason.code] ||
    `the server failed with the code ${Code[reason.code]}`
  );
}

/** Messages of lost connections that say more than their cause. */
const SAYS_WHY = /^the (agent at|connection was lost before) /;

/**
 * Returns the message of the innermost cause, such as a refused connection;
 * undefined without a cause.
 */
function rootOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const code = "code" in cause ? String(cause.code) : cause.name;
  return rootOf(cause.cause) ?? (cause.message || code);
}

/**
 * Returns whether an error only reports that the user canceled (Ctrl-C), which
 * needs no message.
 */
export function isAbort(reason: unknown): boolean {
  if (reason instanceof ConnectError) return reason.code === Code.Canceled;
  return reason instanceof Error && reason.name === "AbortError";
}

/** Messages for codes without a message of the server. */
const WORDS: Readonly<Partial<Record<Code, string>>> = {
  [Code.Unauthenticated]:
    "the server does not accept the token: see --token, --data and $DEVTOOL_TOKEN",
  [Code.PermissionDenied]: "the server does not allow it",
  [Code.Unavailable]: "the server cannot be reached",
};
