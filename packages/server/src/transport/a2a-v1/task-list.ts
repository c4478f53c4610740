import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { TaskSummary } from "@devtool/schema";
import {
  type A2aTask,
  type ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponseSchema,
  stateFromA2a,
  taskToA2a,
} from "@devtool/schema/a2a-v1";
import { invalid } from "../../errors.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { listedTask, summaryTask } from "../a2a/listed-task.ts";
import type { A2aV1Call } from "./call.ts";
import { taskFor } from "./messages.ts";
import { assertHistoryLength } from "./sending.ts";

const DEFAULT_PAGE = 50;
const LARGEST_PAGE = 100;

/**
 * Lists the caller's tasks, those changed last first, without history and
 * artifacts unless the request asks for them.
 */
export async function listTasks(
  handler: RequestHandler,
  request: ListTasksRequest,
  call: A2aV1Call,
): Promise<ListTasksResponse> {
  const {
    pageSize = DEFAULT_PAGE,
    historyLength = 0,
    includeArtifacts = false,
  } = request;
  if (pageSize < 1 || pageSize > LARGEST_PAGE) {
    throw invalid("pageSize", String(pageSize), "must be 1 to 100");
  }
  assertHistoryLength(historyLength, "historyLength");
  const { summaries, nextPageToken } = await readPage(
    handler,
    { ...request, pageSize },
    call,
  );
  const isFull = historyLength > 0 || includeArtifacts;
  const tasks = await Promise.all(
    summaries.map(async (summary): Promise<A2aTask> => {
      if (!isFull) {
        return taskToA2a(summaryTask(summary), {
          view: "plain",
          historyLength: 0,
        });
      }
      const listed = await listedTask(handler, call, summary, historyLength);
      const task = taskFor(call, listed, { historyLength });
      return includeArtifacts ? task : { ...task, artifacts: [] };
    }),
  );
  const isWhole = request.pageToken === "" && nextPageToken === "";
  const totalSize = isWhole
    ? tasks.length
    : await countTasks(handler, request, call);
  return create(ListTasksResponseSchema, {
    tasks,
    nextPageToken,
    pageSize,
    totalSize,
  });
}

/** A page of the tasks that a request asks for. */
interface Page {
  readonly summaries: readonly TaskSummary[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/**
 * Reads a page of tasks.
 *
 * The list is sorted by time, so the first task that is too old for the request
 * ends it.
 */
async function readPage(
  { tasks }: RequestHandler,
  {
    contextId,
    status,
    pageSize = DEFAULT_PAGE,
    pageToken,
    statusTimestampAfter: after,
  }: ListTasksRequest,
  { context }: A2aV1Call,
): Promise<Page> {
  const page = await tasks.listTasks(
    { contextId, state: stateFromA2a(status), pageSize, pageToken },
    context,
  );
  const summaries = page.tasks.filter(({ lastEvent }) => {
    if (after === undefined) return true;
    return (
      lastEvent?.time !== undefined &&
      timestampMs(lastEvent.time) >= timestampMs(after)
    );
  });
  return {
    summaries,
    nextPageToken:
      summaries.length === page.tasks.length ? page.nextPageToken : "",
  };
}

async function countTasks(
  handler: RequestHandler,
  request: ListTasksRequest,
  call: A2aV1Call,
): Promise<number> {
  let total = 0;
  let pageToken = "";
  do {
    const page = await readPage(
      handler,
      { ...request, pageSize: LARGEST_PAGE, pageToken },
      call,
    );
    total += page.summaries.length;
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return total;
}
