import { create, toJson } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import { decodeRfcText } from "@devtool/schema";
import {
  CreateTaskRequestSchema,
  encodeGeminiCliState,
  settingsFromGeminiCli,
  type TaskInfo,
  TaskInfoSchema,
  type ToolInfo,
  ToolInfoSchema,
} from "@devtool/schema/gemini-cli";
import type { AgentOffers } from "../../agent/agent-offers.ts";
import { quoted } from "../../errors.ts";
import { readBody } from "../http/body.ts";
import { HttpFailure } from "../http/failure.ts";
import { send } from "../http/route.ts";
import type { PromisedTask } from "./gemini-cli-tasks.ts";
import type { Visit } from "./visit.ts";

/**
 * Lists are encoded also when they are empty, since clients of the original
 * server iterate over them.
 */
const WITH_EMPTY_LISTS = { alwaysEmitImplicit: true };

/**
 * Answers `POST /tasks`: checks the settings, promises a task that begins with
 * its first message, and sends its id with 201.
 */
export async function createTask(visit: Visit): Promise<void> {
  const { request, response, handler, geminiCli, principal, maxRequestBytes } =
    visit;
  const { agentSettings, contextId } = decodeRfcText(
    CreateTaskRequestSchema,
    await readBody(request, maxRequestBytes),
  );
  const settings =
    agentSettings && settingsFromGeminiCli(agentSettings).settings;
  // Commands belong to a workspace: listing them fails exactly where a task
  // could not work.
  const place = defined({ contextId, settings });
  await handler.commands.getAllSlashCommands(place, visit.context);
  const { id } = geminiCli.promise({
    principal,
    contextId,
    settings: agentSettings,
  });
  send(response, 201, { body: JSON.stringify(id) });
}

/**
 * Answers `GET /tasks/metadata`: with all tasks of the caller, or 204 when
 * there are none.
 */
export async function listTasks(visit: Visit): Promise<void> {
  const { geminiCli, principal, response, handler, context } = visit;
  const infos = geminiCli.promisedTo(principal).map(promisedInfo);
  let pageToken = "";
  do {
    const page = await handler.tasks.listTasks(
      { pageSize: 100, pageToken },
      context,
    );
    for (const { id, contextId, lastEvent } of page.tasks) {
      const { state = 0, model = "" } = lastEvent ?? {};
      infos.push(
        create(TaskInfoSchema, {
          id,
          contextId,
          taskState: encodeGeminiCliState(state),
          model,
        }),
      );
    }
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  if (infos.length === 0) return send(response, 204, { body: "" });
  const body = infos.map((info) =>
    toJson(TaskInfoSchema, info, WITH_EMPTY_LISTS),
  );
  send(response, 200, { body: JSON.stringify(body) });
}

/** Answers `GET /tasks/{id}/metadata`. */
export async function getTask(visit: Visit): Promise<void> {
  // The ids of the dialect hold no characters that a path would escape.
  const [id = ""] = visit.groups;
  const promised = visit.geminiCli.findPromised(id, visit.principal);
  const info = promised ? promisedInfo(promised) : await findInfo(visit, id);
  const metadata = toJson(TaskInfoSchema, info, WITH_EMPTY_LISTS);
  send(visit.response, 200, { body: JSON.stringify({ metadata }) });
}

async function findInfo(visit: Visit, id: string): Promise<TaskInfo> {
  const { handler, geminiCli, context } = visit;
  const taskId = geminiCli.resolve(id);
  const { task } = await handler.tasks.getTask({ taskId }, context);
  if (!task) {
    throw new HttpFailure(`task ${quoted(taskId)} does not exist`, 404);
  }
  const { contextId, state, model } = task;
  const { tools, mcpServers } = await handler.offers(taskId, context);
  return create(TaskInfoSchema, {
    ...{ id, contextId, taskState: encodeGeminiCliState(state), model },
    mcpServers: mcpServers.map((server) => ({
      ...server,
      tools: server.tools.map(toolInfo),
    })),
    availableTools: tools.map(toolInfo),
  });
}

function toolInfo({
  name,
  description,
  parameters,
}: AgentOffers["tools"][number]): ToolInfo {
  return create(
    ToolInfoSchema,
    defined({ name, description, parameterSchema: parameters }),
  );
}

function promisedInfo({ id, contextId }: PromisedTask): TaskInfo {
  return create(TaskInfoSchema, { id, contextId, taskState: "submitted" });
}
