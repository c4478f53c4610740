import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { emptyTask, ListTasksRequestSchema, ListTasksResponseSchema, type Task, TaskState } from "@devtool/schema";
import { encodeTask, type TaskListQuery } from "@devtool/schema/a2a-v03";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { findTask, type MethodCall } from "../a2a/method.ts";
import { shownView } from "./call.ts";

/**
 * Lists the caller's tasks, the latest changed first, without history and artifacts unless they are asked for. A2A 0.3 names
 * `GET /v1/tasks` and says no more of it (section 3.5.6), so its parameters and its pages are those of A2A 1.0.
 */
export async function listTasks(handler: RequestHandler, query: TaskListQuery, call: MethodCall): Promise<JsonObject> {
  const listed = await handler.tasks.listTasks(create(ListTasksRequestSchema, query), call.context);
  const page = create(ListTasksResponseSchema, listed);
  const tasks: JsonValue[] = [];
  for (const { id, contextId, lastEvent } of page.tasks) {
    const time = lastEvent?.time && { updateTime: lastEvent.time };
    const known = { ...emptyTask(), id, contextId, state: lastEvent?.state ?? TaskState.UNSPECIFIED, ...time };
    tasks.push(await taskJson(handler, { call, query, known }));
  }
  return { tasks, nextPageToken: page.nextPageToken };
}

async function taskJson(
  handler: RequestHandler,
  { call, query, known }: { readonly call: MethodCall; readonly query: TaskListQuery; readonly known: Task },
): Promise<JsonValue> {
  const { historyLength, includeArtifacts } = query;
  if (historyLength === 0 && !includeArtifacts) return encodeTask(known, { view: "plain", historyLength: 0 });
  const task = await findTask(handler, call, known.id);
  const view = shownView(call, task);
  return encodeTask(includeArtifacts ? task : { ...task, artifacts: [] }, { view, historyLength });
}
