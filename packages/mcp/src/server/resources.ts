import { isAtRest, type Task, type TaskSummary } from "@devtool/schema";
import {
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
} from "@modelcontextprotocol/server";
import type { PortTasks } from "./port.ts";
import { stateName, structuredTask } from "./task-result.ts";

const PREFIX = "devtool://tasks/";

/** The address of each task, as a template. */
export const TASK_TEMPLATE: ResourceTemplateType = {
  uriTemplate: `${PREFIX}{taskId}`,
  name: "task",
  title: "Task of an agent",
  description: "What an agent says in a task, and what it asks.",
  mimeType: "application/json",
};

/** Returns the task that a resource is. Throws for another resource. */
export function taskIdOf(uri: string): string {
  const id = uri.startsWith(PREFIX) ? uri.slice(PREFIX.length) : "";
  try {
    const taskId = decodeURIComponent(id);
    if (taskId !== "") return taskId;
  } catch {
    // It is not percent-encoded: no task has it.
  }
  throw new ResourceNotFoundError(uri);
}

/** The maximum number of resources that a host hears of at once. */
export const MAX_WATCHED = 100;

/** The number of tasks of a page. */
const PAGE_SIZE = 50;

/** Lists the caller's tasks as resources, those that changed last first. */
export async function listTaskResources(
  tasks: PortTasks,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly resources: Resource[]; readonly nextCursor?: string }> {
  const page = await tasks.list(
    { pageToken: cursor ?? "", pageSize: PAGE_SIZE },
    signal,
  );
  const resources = page.tasks.map(resourceOf);
  return page.nextPageToken === ""
    ? { resources }
    : { resources, nextCursor: page.nextPageToken };
}

function resourceOf({ id, title, agent, lastEvent }: TaskSummary): Resource {
  const state = lastEvent ? stateName(lastEvent.state) : "";
  return {
    uri: `${PREFIX}${encodeURIComponent(id)}`,
    name: id,
    title: title || id,
    description: [agent, state].filter(Boolean).join(": "),
    mimeType: "application/json",
  };
}

/** Returns a task as the content of its resource. */
export async function readTaskResource(
  tasks: PortTasks,
  uri: string,
  signal: AbortSignal,
): Promise<ReadResourceResult> {
  const task = await tasks.get(taskIdOf(uri), signal);
  const text = JSON.stringify(structuredTask(task));
  return { contents: [{ uri, mimeType: "application/json", text }] };
}

/** Yields a task as it is, and again when its state changes, until it ends. */
export async function* taskStates(
  tasks: PortTasks,
  taskId: string,
  signal: AbortSignal,
): AsyncIterable<Task> {
  const task = await tasks.get(taskId, signal);
  yield task;
  let { state } = task;
  for await (const event of tasks.follow(taskId, task.sequence, signal)) {
    const isChange = event.state !== state || isAtRest(event.state);
    state = event.state;
    if (isChange) yield await tasks.get(taskId, signal);
  }
}
