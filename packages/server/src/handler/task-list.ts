import { create, type MessageShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { defined } from "@devtool/internal/json";
import {
  type ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponseSchema,
  StateChangeSchema,
  type TaskEvent,
  TaskEventSchema,
  TaskService,
  TaskState,
  type TaskSummary,
  TaskSummarySchema,
  type ToolCall,
  ToolCallSchema,
  type WatchTasksRequest,
} from "@devtool/schema";
import { invalid } from "../errors.ts";
import type { GoneTask, TaskChanges } from "../store/task-changes.ts";
import { matchesLabel } from "../store/task-label.ts";
import type { ListedTask, TaskQuery, TaskStore } from "../store/task-store.ts";
import type { TaskFeed } from "../task/task-feed.ts";
import { principalOf } from "./caller.ts";
import { hideSecretsInEvent } from "./hide-secrets.ts";
import { ListedChanges } from "./listed-changes.ts";
import { RecentTasks } from "./recent-tasks.ts";

/** Returns a page of the tasks that match the request. */
export async function listTasks(
  store: TaskStore,
  request: ListTasksRequest,
  context: HandlerContext,
): Promise<ListTasksResponse> {
  const { pageSize, pageToken, contextId, idPrefix } = request;
  const principal = listedPrincipal(request, context);
  const { tasks, cursor } = await store.list({
    ...filterOf(request),
    principal,
    limit: pageSizeOf("page_size", pageSize),
    contextId: contextId || undefined,
    idPrefix: idPrefix || undefined,
    cursor: pageToken || undefined,
  });
  return create(ListTasksResponseSchema, {
    tasks: tasks.map((task) => summaryOf(task, request)),
    nextPageToken: cursor ?? "",
  });
}

const Watched: typeof TaskService.method.watchTasks.output =
  TaskService.method.watchTasks.output;

/** Where tasks and their changes are found. */
export interface Watchable {
  readonly store: TaskStore;
  readonly feed: TaskFeed;
  /** Undefined when no other server uses the store. */
  readonly changes: TaskChanges | undefined;
}

/**
 * Yields the tasks that match the request and changed last, and then each of
 * them that changes.
 */
export async function* watchTasks(
  { store, feed, changes }: Watchable,
  request: WatchTasksRequest,
  context: HandlerContext,
): AsyncIterable<MessageShape<typeof Watched>> {
  const limit = pageSizeOf("snapshot_size", request.snapshotSize);
  const principal = listedPrincipal(request, context);
  const filter = filterOf(request);
  // Watches before it lists, so that no change falls between the two.
  using watch = feed.watch(principal);
  const others = changes && (await ListedChanges.begin(store, principal));
  const { tasks } = await store.list({ ...filter, principal, limit });
  for (const task of tasks) {
    yield create(Watched, { task: summaryOf(task, request) });
  }
  yield create(Watched, { snapshotComplete: true });
  const shown = new ShownTasks(tasks.length === limit);
  for (const { last } of tasks.toReversed()) shown.note(last, "shown");
  const left = new AbortController();
  if (changes) {
    void others?.follow(
      changes,
      watch,
      AbortSignal.any([left.signal, context.signal]),
    );
  }
  try {
    for await (const task of watch.read(context.signal)) {
      if (!("last" in task)) {
        yield removedTask(task);
        continue;
      }
      // A change of this server may be found in the store as well.
      if (shown.has(task.last)) continue;
      const hasState =
        filter.state === undefined || task.last.state === filter.state;
      const excluded = !hasState || !matchesLabel(filter, task);
      const isHad = shown.mayHave(task.last);
      shown.note(task.last, excluded ? "left out" : "shown");
      if (excluded && !isHad) continue;
      yield create(Watched, {
        task: summaryOf(task, request),
        snapshotComplete: true,
        excluded,
      });
    }
  } finally {
    left.abort();
  }
}

/** The number of tasks of which a watch knows what its client has. */
const MAX_SHOWN = 10_000;

/** What the client of a watch has of each task that changed last. */
class ShownTasks {
  readonly #tasks = new RecentTasks<{ sequence: bigint; isShown: boolean }>(
    MAX_SHOWN,
  );
  #mayHaveOthers: boolean;

  /** @param mayHaveOthers whether the client may have tasks of `ListTasks` */
  constructor(mayHaveOthers: boolean) {
    this.#mayHaveOthers = mayHaveOthers;
  }

  /** Whether a change was noted, or a later one of its task. */
  has({ taskId, sequence }: TaskEvent): boolean {
    return sequence <= (this.#tasks.get(taskId)?.sequence ?? 0n);
  }

  /** Whether the client may have the task of an event. */
  mayHave({ taskId }: TaskEvent): boolean {
    return this.#tasks.get(taskId)?.isShown ?? this.#mayHaveOthers;
  }

  note({ taskId, sequence }: TaskEvent, as: "shown" | "left out"): void {
    const isShown = as === "shown";
    if (this.#tasks.note(taskId, { sequence, isShown })) {
      this.#mayHaveOthers = true;
    }
  }
}

function removedTask({
  taskId: id,
  contextId,
}: GoneTask): MessageShape<typeof Watched> {
  return create(Watched, {
    task: { id, contextId },
    snapshotComplete: true,
    excluded: true,
    removed: true,
  });
}

/** Returns whose tasks a request lists; undefined for those of all callers. */
function listedPrincipal(
  { allCallers }: ListTasksRequest | WatchTasksRequest,
  context: HandlerContext,
): string | undefined {
  return allCallers ? undefined : principalOf(context);
}

/** Returns the conditions of a request, whose empty fields select all tasks. */
function filterOf({
  state,
  agent,
  workspacePath,
  titleContains,
}: ListTasksRequest | WatchTasksRequest): Omit<TaskQuery, "limit"> {
  return {
    state: state === TaskState.UNSPECIFIED ? undefined : state,
    agent: agent || undefined,
    workspacePath: workspacePath || undefined,
    titleContains: titleContains || undefined,
  };
}

/**
 * Returns a page size from a request, in which 0 stands for 50. Throws
 * `Code.InvalidArgument` above 100 or below 0.
 */
function pageSizeOf(field: string, size: number): number {
  if (size < 0 || size > 100) {
    throw invalid(field, String(size), "must be 1 to 100, or 0 for 50");
  }
  return size || 50;
}

/** Returns the entry of a task in the list that a request asks for. */
function summaryOf(
  { last, principal, title, workspacePath, agent, messageCount }: ListedTask,
  { allCallers }: ListTasksRequest | WatchTasksRequest,
): TaskSummary {
  const { taskId: id, contextId } = last;
  return create(TaskSummarySchema, {
    id,
    contextId,
    lastEvent: allCallers ? outlineOf(last) : hideSecretsInEvent(last),
    title,
    workspacePath,
    agent,
    messageCount,
    principal: allCallers ? principal : "",
  });
}

/** Returns an event without what was said: for callers whose task it is not. */
function outlineOf(event: TaskEvent): TaskEvent {
  const { sequence, taskId, contextId, time, state, model, goalState } = event;
  return create(TaskEventSchema, {
    ...{ sequence, taskId, contextId, state, model, goalState },
    ...defined({ time }),
    payload: outlineOfPayload(event),
  });
}

function outlineOfPayload({ payload }: TaskEvent): TaskEvent["payload"] {
  switch (payload.case) {
    case "toolCall":
      return { case: "toolCall", value: outlineOfCall(payload.value) };
    case "stateChange": {
      const openCalls = payload.value.openCalls.map(outlineOfCall);
      const value = create(StateChangeSchema, { openCalls });
      return { case: "stateChange", value };
    }
    default:
      return { case: undefined };
  }
}

function outlineOfCall({ toolName, status }: ToolCall): ToolCall {
  return create(ToolCallSchema, { toolName, status });
}
