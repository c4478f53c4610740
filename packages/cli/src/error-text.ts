import { Code, ConnectError } from "@connectrpc/connect";

/** What went wrong, as a sentence for a person: the server's own where it said one, without codes of the wire. */
export function reasonOf(reason: unknown): string {
  if (!(reason instanceof ConnectError)) return reason instanceof Error ? reason.message : String(reason);
  const problem = reason.code === Code.Unavailable ? rootOf(reason.cause) : undefined;
  if (problem !== undefined) return `the server cannot be reached: ${problem}`;
  return reason.rawMessage || WORDS[reason.code] || `the server failed with the code ${Code[reason.code]}`;
}

/** What a chain of causes began with, such as a refused connection; undefined when there is no cause. */
function rootOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const code = "code" in cause ? String(cause.code) : cause.name;
  return rootOf(cause.cause) ?? (cause.message || code);
}

/** Whether something was left at once because the person wanted it so (Ctrl-C), of which nothing needs to be said. */
export function isAbort(reason: unknown): boolean {
  if (reason instanceof ConnectError) return reason.code === Code.Canceled;
  return reason instanceof Error && reason.name === "AbortError";
}

/** What the codes say that come without words of the server's. */
const WORDS: Readonly<Partial<Record<Code, string>>> = {
  [Code.Unauthenticated]: "the server does not accept the token: see --token, --data and $DEVTOOL_TOKEN",
  [Code.PermissionDenied]: "the server does not allow it",
  [Code.Unavailable]: "the server cannot be reached",
};
