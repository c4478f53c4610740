import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  emptyTask,
  ListTasksRequestSchema as OwnRequestSchema,
  type ListTasksResponse as OwnResponse,
  ListTasksResponseSchema as OwnResponseSchema,
  type TaskSummary,
} from "@devtool/schema";
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
import type { Call } from "./call.ts";
import { a2aTask, assertHistoryLength, taskOf } from "./messages.ts";

const DEFAULT_PAGE = 50;
const LARGEST_PAGE = 100;

/** Lists the caller's tasks, the latest changed first; without history and artifacts unless they are asked for. */
export async function listTasks(
  handler: RequestHandler,
  request: ListTasksRequest,
  call: Call,
): Promise<ListTasksResponse> {
  const { pageSize = DEFAULT_PAGE, historyLength, includeArtifacts } = request;
  if (pageSize < 1 || pageSize > LARGEST_PAGE) throw invalid("pageSize", String(pageSize), "must be 1 to 100");
  assertHistoryLength(historyLength, "historyLength");
  const page = await pageOf(handler, { ...request, pageSize }, call);
  const fresh = page.tasks.filter((summary) => isSince(summary, request));
  const all = fresh.length === page.tasks.length;
  const tasks = await Promise.all(
    fresh.map((summary) => shown(handler, { summary, historyLength, includeArtifacts }, call)),
  );
  const nextPageToken = all ? page.nextPageToken : "";
  const isWhole = request.pageToken === "" && nextPageToken === "";
  const totalSize = isWhole ? tasks.length : await count(handler, request, call);
  return create(ListTasksResponseSchema, { tasks, nextPageToken, pageSize, totalSize });
}

async function pageOf(
  { tasks }: RequestHandler,
  { contextId, status, pageSize, pageToken }: ListTasksRequest,
  { context }: Call,
): Promise<OwnResponse> {
  const request = { contextId, state: stateFromA2a(status), pageSize: pageSize ?? DEFAULT_PAGE, pageToken };
  return create(OwnResponseSchema, await tasks.listTasks(create(OwnRequestSchema, request), context));
}

/** The list is sorted by time, so the first task that is too old ends it. */
function isSince({ lastEvent }: TaskSummary, { statusTimestampAfter: after }: ListTasksRequest): boolean {
  return after === undefined || (lastEvent?.time !== undefined && timestampMs(lastEvent.time) >= timestampMs(after));
}

async function count(handler: RequestHandler, request: ListTasksRequest, call: Call): Promise<number> {
  let total = 0;
  for (let pageToken = "", isFirst = true; isFirst || pageToken !== ""; isFirst = false) {
    const page = await pageOf(handler, { ...request, pageSize: LARGEST_PAGE, pageToken }, call);
    const fresh = page.tasks.filter((summary) => isSince(summary, request)).length;
    total += fresh;
    pageToken = fresh === page.tasks.length ? page.nextPageToken : "";
  }
  return total;
}

interface Shown extends Pick<ListTasksRequest, "historyLength" | "includeArtifacts"> {
  readonly summary: TaskSummary;
}

async function shown(
  handler: RequestHandler,
  { summary, historyLength = 0, includeArtifacts = false }: Shown,
  call: Call,
): Promise<A2aTask> {
  if (historyLength > 0 || includeArtifacts) {
    const task = a2aTask(await taskOf(handler, summary.id, call), call, historyLength);
    return includeArtifacts ? task : { ...task, artifacts: [] };
  }
  const { id, contextId, lastEvent } = summary;
  const task = { ...emptyTask(), id, contextId, ...(lastEvent && { state: lastEvent.state }) };
  const time = lastEvent?.time && { updateTime: lastEvent.time };
  return taskToA2a({ ...task, ...time }, { view: "plain", historyLength: 0 });
}
