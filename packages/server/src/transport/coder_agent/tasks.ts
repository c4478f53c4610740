import { create, toJson } from "@bufbuild/protobuf";
import {
  decodeRfcText,
  GetTaskRequestSchema,
  ListTasksRequestSchema,
  ListTasksResponseSchema,
  SlashCommandService,
  type Task,
  TaskSchema,
  TaskService,
  type TaskSummary,
} from "@devtool/schema";
import {
  CreateTaskRequestSchema,
  encodeCoderAgentState,
  settingsOf,
  type TaskInfo,
  TaskInfoSchema,
} from "@devtool/schema/coder-agent";
import { readBody } from "../body.ts";
import { send } from "../route.ts";
import type { PromisedTask } from "./coder-agent-tasks.ts";
import { contextFor, type Visit } from "./endpoint.ts";
import { HttpFailure } from "./errors.ts";

/** `POST /tasks`: checks the settings, and promises a task that begins with its first message. Answers 201 with its id. */
export async function createTask(visit: Visit): Promise<void> {
  const { request, response, handler, coderAgent, principal, maxRequestBytes } = visit;
  const { agentSettings, contextId } = decodeRfcText(CreateTaskRequestSchema, await readBody(request, maxRequestBytes));
  const method = SlashCommandService.method.getAllSlashCommands;
  const { settings } = agentSettings ? settingsOf(agentSettings) : {};
  // Commands are those of a workspace: asking for them fails exactly where a task could not work.
  await handler.commands.getAllSlashCommands(
    create(method.input, { contextId, ...(settings && { settings }) }),
    contextFor(visit, method),
  );
  const { id } = coderAgent.promise({ principal, contextId, settings: agentSettings });
  send(response, 201, { body: JSON.stringify(id) });
}

/** `GET /tasks/metadata`: all tasks of the caller, 204 when there are none. */
export async function listTasks(visit: Visit): Promise<void> {
  const { coderAgent, principal, response } = visit;
  const infos = coderAgent.promisedTo(principal).map(promisedInfo);
  for await (const task of tasksOf(visit)) infos.push(summaryInfo(task));
  if (infos.length === 0) return send(response, 204, { body: "" });
  send(response, 200, { body: JSON.stringify(infos.map(infoJson)) });
}

async function* tasksOf(visit: Visit): AsyncIterable<TaskSummary> {
  const context = contextFor(visit, TaskService.method.listTasks);
  let pageToken = "";
  do {
    const request = create(ListTasksRequestSchema, { pageSize: 100, pageToken });
    const page = create(ListTasksResponseSchema, await visit.handler.tasks.listTasks(request, context));
    yield* page.tasks;
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
}

/** `GET /tasks/{id}/metadata`. */
export async function getTask(visit: Visit, id: string): Promise<void> {
  const promised = visit.coderAgent.findPromised(id, visit.principal);
  const info = promised ? promisedInfo(promised) : taskInfo(id, await taskOf(visit, visit.coderAgent.resolve(id)));
  send(visit.response, 200, { body: JSON.stringify({ metadata: infoJson(info) }) });
}

async function taskOf(visit: Visit, taskId: string): Promise<Task> {
  const context = contextFor(visit, TaskService.method.getTask);
  const { task } = await visit.handler.tasks.getTask(create(GetTaskRequestSchema, { taskId }), context);
  if (!task) throw new HttpFailure(`task ${JSON.stringify(taskId)} does not exist`, 404);
  return create(TaskSchema, task);
}

/** The servers of a session are told by name; what they offer is asked of the agent. */
function taskInfo(id: string, { contextId, state, model, sessionSettings }: Task): TaskInfo {
  const mcpServers = (sessionSettings?.mcpServers ?? []).map(({ name }) => ({ name }));
  return create(TaskInfoSchema, { id, contextId, taskState: encodeCoderAgentState(state), model, mcpServers });
}

function promisedInfo({ id, contextId }: PromisedTask): TaskInfo {
  return create(TaskInfoSchema, { id, contextId, taskState: "submitted" });
}

function summaryInfo({ id, contextId, lastEvent }: TaskSummary): TaskInfo {
  const { state = 0, model = "" } = lastEvent ?? {};
  return create(TaskInfoSchema, { id, contextId, taskState: encodeCoderAgentState(state), model });
}

/** Its lists stand there also when they are empty: clients of the original go through them. */
function infoJson(info: TaskInfo): object {
  const json = toJson(TaskInfoSchema, info);
  return { mcpServers: [], availableTools: [], ...(typeof json === "object" && json) };
}
