import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { type TaskEvent, type TaskSummary, TaskSummarySchema, type WatchTasksRequest } from "@devtool/schema";
import { invalid } from "../errors.ts";
import type { TaskStore } from "../store/task-store.ts";
import type { TaskFeed } from "../task/task-feed.ts";
import { principalOf } from "./caller.ts";
import { hideSecretsInEvent } from "./hide-secrets.ts";

/** A response of `WatchTasks`. */
interface Watched {
  readonly task?: TaskSummary;
  readonly snapshotComplete: boolean;
}

/** Yields the caller's tasks that changed last, and then each task that changes. */
export async function* watchTasks(
  store: TaskStore,
  feed: TaskFeed,
  { snapshotSize }: WatchTasksRequest,
  context: HandlerContext,
): AsyncIterable<Watched> {
  const limit = pageSizeOf("snapshot_size", snapshotSize);
  const principal = principalOf(context);
  // Watches before it lists, so that no change falls between the two.
  using watch = feed.watch(principal);
  const { tasks } = await store.list({ principal, limit });
  for (const event of tasks) yield { task: summaryOf(event), snapshotComplete: false };
  yield { snapshotComplete: true };
  const listed = new Map(tasks.map(({ taskId, sequence }) => [taskId, sequence]));
  for await (const event of watch.read(context.signal)) {
    if (event.sequence > (listed.get(event.taskId) ?? 0n)) yield { task: summaryOf(event), snapshotComplete: true };
  }
}

/** Returns a page size from a request, in which 0 stands for 50. Throws `Code.InvalidArgument` above 100 or below 0. */
export function pageSizeOf(field: string, size: number): number {
  if (size < 0 || size > 100) throw invalid(field, String(size), "must be 1 to 100, or 0 for 50");
  return size || 50;
}

/** Returns the entry of a task in a list, from its last event. */
export function summaryOf(event: TaskEvent): TaskSummary {
  const lastEvent = hideSecretsInEvent(event);
  return create(TaskSummarySchema, { id: event.taskId, contextId: event.contextId, lastEvent });
}
