import { ConnectError } from "@connectrpc/connect";
import { words } from "./words.ts";

/**
 * Returns what went wrong, as the server says it. Where there is no server, the
 * browser's own error (`Failed to fetch`) would say nothing to a user.
 */
export function problemText(reason: unknown): string {
  const error = ConnectError.from(reason);
  return error.cause instanceof TypeError
    ? words.unreachable
    : error.rawMessage;
}
