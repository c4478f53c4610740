import { Code, ConnectError } from "@connectrpc/connect";
import type { ListTasksRequest } from "@devtool/schema";

/**
 * Throws `Code.Unimplemented` for a list with a filter that only devtool's own
 * services have: without it, the list would hold tasks that were not asked for.
 */
export function assertPlainList(
  request: ListTasksRequest,
  protocol: string,
): void {
  for (const field of [
    "agent",
    "workspacePath",
    "titleContains",
    "idPrefix",
  ] as const) {
    if (request[field] === "") continue;
    throw new ConnectError(
      `${field}: ${protocol} has no such filter: use Connect or gRPC`,
      Code.Unimplemented,
    );
  }
}
