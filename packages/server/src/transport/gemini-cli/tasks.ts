import { create, type JsonValue, toJson } from "@bufbuild/protobuf";
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
  encodeGeminiCliState,
  settingsOf,
  type TaskInfo,
  TaskInfoSchema,
  type ToolInfo,
  ToolInfoSchema,
} from "@devtool/schema/gemini-cli";
import type { OfferedTool } from "../../agent/agent.ts";
import { quoted } from "../../errors.ts";
import { readBody } from "../http/body.ts";
import { send } from "../http/route.ts";
import { contextFor, type Visit } from "./endpoint.ts";
import { HttpFailure } from "./errors.ts";
import type { PromisedTask } from "./gemini-cli-tasks.ts";

/** `POST /tasks`: checks the settings, and promises a task that begins with its first message. Answers 201 with its id. */
export async function createTask(visit: Visit): Promise<void> {
  const { request, response, handler, geminiCli, principal, maxRequestBytes } = visit;
  const { agentSettings, contextId } = decodeRfcText(CreateTaskRequestSchema, await readBody(request, maxRequestBytes));
  const method = SlashCommandService.method.getAllSlashCommands;
  const { settings } = agentSettings ? settingsOf(agentSettings) : {};
  // Commands are those of a workspace: asking for them fails exactly where a task could not work.
  await handler.commands.getAllSlashCommands(
    create(method.input, { contextId, ...(settings && { settings }) }),
    contextFor(visit, method),
  );
  const { id } = geminiCli.promise({ principal, contextId, settings: agentSettings });
  send(response, 201, { body: JSON.stringify(id) });
}

/** `GET /tasks/metadata`: all tasks of the caller, 204 when there are none. */
export async function listTasks(visit: Visit): Promise<void> {
  const { geminiCli, principal, response } = visit;
  const infos = geminiCli.promisedTo(principal).map(promisedInfo);
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
  const promised = visit.geminiCli.findPromised(id, visit.principal);
  const info = promised ? promisedInfo(promised) : await taskInfo(visit, id);
  send(visit.response, 200, { body: JSON.stringify({ metadata: infoJson(info) }) });
}

async function taskOf(visit: Visit, taskId: string): Promise<Task> {
  const context = contextFor(visit, TaskService.method.getTask);
  const { task } = await visit.handler.tasks.getTask(create(GetTaskRequestSchema, { taskId }), context);
  if (!task) throw new HttpFailure(`task ${quoted(taskId)} does not exist`, 404);
  return create(TaskSchema, task);
}

async function taskInfo(visit: Visit, id: string): Promise<TaskInfo> {
  const taskId = visit.geminiCli.resolve(id);
  const { contextId, state, model } = await taskOf(visit, taskId);
  const { tools, mcpServers } = await visit.handler.offers(taskId, contextFor(visit, TaskService.method.getTask));
  return create(TaskInfoSchema, {
    ...{ id, contextId, taskState: encodeGeminiCliState(state), model },
    mcpServers: mcpServers.map((server) => ({ ...server, tools: server.tools.map(toolInfo) })),
    availableTools: tools.map(toolInfo),
  });
}

function toolInfo({ name, description, parameters }: OfferedTool): ToolInfo {
  return create(ToolInfoSchema, { name, description, ...(parameters && { parameterSchema: parameters }) });
}

function promisedInfo({ id, contextId }: PromisedTask): TaskInfo {
  return create(TaskInfoSchema, { id, contextId, taskState: "submitted" });
}

function summaryInfo({ id, contextId, lastEvent }: TaskSummary): TaskInfo {
  const { state = 0, model = "" } = lastEvent ?? {};
  return create(TaskInfoSchema, { id, contextId, taskState: encodeGeminiCliState(state), model });
}

/** Its lists stand there also when they are empty: clients of the original go through them. */
function infoJson(info: TaskInfo): JsonValue {
  return toJson(TaskInfoSchema, info, { alwaysEmitImplicit: true });
}
