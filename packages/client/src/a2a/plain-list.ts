import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type ListTasksRequest,
  type TaskSummary,
  TaskSummarySchema,
} from "@devtool/schema";

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
    "allCallers",
  ] as const) {
    if (!request[field]) continue;
    throw new ConnectError(
      `${field}: ${protocol} has no such filter: use Connect or gRPC`,
      Code.Unimplemented,
    );
  }
}

/**
 * Returns rows of a list of tasks that say what is left out of it: a list has no
 * other place for that.
 */
export function rowsOf(leftOut: readonly string[]): TaskSummary[] {
  return leftOut.map((why) =>
    create(TaskSummarySchema, { title: `left out: ${why}` }),
  );
}
