import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { ListTasksRequestSchema, ListTasksResponseSchema } from "@devtool/schema";
import { encodeTask, type TaskListQuery } from "@devtool/schema/a2a-v03";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { listedTask, summaryTask } from "../a2a/listed-task.ts";
import type { MethodCall } from "../a2a/method.ts";
import { enterView } from "./call.ts";

/**
 * Lists the caller's tasks, those changed last first, without history and artifacts unless the
 * query asks for them.
 *
 * A2A 0.3 names `GET /v1/tasks` and says no more about it (section 3.5.6). Parameters and pages are
 * those of A2A 1.0.
 */
export async function listTasks(handler: RequestHandler, query: TaskListQuery, call: MethodCall): Promise<JsonObject> {
  const { historyLength, includeArtifacts } = query;
  const listed = await handler.tasks.listTasks(create(ListTasksRequestSchema, query), call.context);
  const page = create(ListTasksResponseSchema, listed);
  const tasks: JsonValue[] = [];
  for (const summary of page.tasks) {
    if (historyLength === 0 && !includeArtifacts) {
      tasks.push(encodeTask(summaryTask(summary), { view: "plain", historyLength: 0 }));
    } else {
      const task = await listedTask(handler, call, summary);
      const view = enterView(call, task);
      tasks.push(encodeTask(includeArtifacts ? task : { ...task, artifacts: [] }, { view, historyLength }));
    }
  }
  return { tasks, nextPageToken: page.nextPageToken };
}
