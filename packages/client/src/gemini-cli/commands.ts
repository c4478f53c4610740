import { create, type JsonObject, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CommandExecutionStatus,
  decodeRfcText,
  type ExecuteSlashCommandRequest,
  ExecuteSlashCommandRequestSchema,
  type ExecuteSlashCommandResponse,
  ExecuteSlashCommandResponseSchema,
  isAwaitingApproval,
  openToolCalls,
  type RunSlashCommandRequest,
  type SlashCommandService,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import {
  decodeCommandList,
  ExecuteCommandResponseSchema,
  encodeGeminiCliSettings,
  GeminiCliSettingsSchema,
} from "@devtool/schema/gemini-cli";
import { failureOf, type GeminiCliEndpoint, reasonOf } from "./endpoint.ts";
import type { SeenTask, SeenTasks } from "./seen-task.ts";
import { append, taskIdIn } from "./tasks.ts";

/** Slash commands over the dialect. A command has ended, or asks something, when its start is answered. */
export function slashCommandImpl(
  endpoint: GeminiCliEndpoint,
  seen: SeenTasks,
): ServiceImpl<typeof SlashCommandService> {
  let runs = 0;
  return {
    async getAllSlashCommands(_place, { signal }) {
      return decodeCommandList((await endpoint.get("/listCommands", signal)) ?? {});
    },
    async runSlashCommand(request, { signal }) {
      const command = request.command ?? create(ExecuteSlashCommandRequestSchema);
      const response = await endpoint.request("/executeCommand", { ...commandInit(request, command), signal });
      if (response.status === 400 || response.status === 404) {
        return { result: { status: CommandExecutionStatus.FAILED_TO_START, message: await reasonOf(response) } };
      }
      if (!response.ok) throw await failureOf(response);
      const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
      const known = isStream
        ? await followed(response, seen)
        : ended(await response.text(), { command, seen, ownId: `command-${++runs}` });
      return { result: resultOf(known) };
    },
  };
}

/** The words of the command are its name there. A server that knows only `{command, args}` leaves the rest out. */
function commandInit(
  { settings, contextId }: RunSlashCommandRequest,
  command: ExecuteSlashCommandRequest,
): RequestInit {
  const agentSettings = settings && toJson(GeminiCliSettingsSchema, encodeGeminiCliSettings({ settings }));
  const body: JsonObject = {
    command: command.commandPath.join(" "),
    args: command.args === "" ? [] : [command.args],
    ...(agentSettings !== undefined && { agentSettings }),
    ...(contextId !== "" && { contextId }),
  };
  const headers = { "content-type": "application/json", accept: "text/event-stream, application/json" };
  return { method: "POST", headers, body: JSON.stringify(body) };
}

/** Reads the updates of a command to the end of its turn, a frame a line: the peer ends its frames with one newline only. */
async function followed(response: Response, seen: SeenTasks): Promise<SeenTask> {
  let known: SeenTask | undefined;
  for (const line of (await response.text()).split("\n")) {
    if (!line.startsWith("data:")) continue;
    const { result } = JSON.parse(line.slice("data:".length));
    known ??= seen.open(taskIdIn(result));
    append(known, result);
  }
  return known ?? seen.open("");
}

/** What a command gave, as the events of a task that has ended. */
function ended(
  body: string,
  {
    command,
    seen,
    ownId,
  }: { readonly command: ExecuteSlashCommandRequest; readonly seen: SeenTasks; readonly ownId: string },
): SeenTask {
  const { data, taskId: told } = decodeRfcText(ExecuteCommandResponseSchema, body);
  const json = data ? toJson(ValueSchema, data) : "";
  const text = typeof json === "string" ? json : JSON.stringify(json, undefined, 2);
  const taskId = told || ownId;
  const known = seen.open(taskId);
  const add = (state: TaskState, payload: NonNullable<MessageInitShape<typeof TaskEventSchema>["payload"]>): void =>
    known.append(
      create(TaskEventSchema, { sequence: known.task.sequence + 1n, taskId, contextId: taskId, state, payload }),
    );
  add(TaskState.SUBMITTED, { case: "created", value: { command } });
  add(TaskState.WORKING, { case: "text", value: { text } });
  add(TaskState.COMPLETED, { case: "stateChange", value: {} });
  return known;
}

function resultOf({ task }: SeenTask): ExecuteSlashCommandResponse {
  const asked = openToolCalls(task).find(isAwaitingApproval)?.confirmationRequest?.details.case;
  const awaiting =
    asked === "executeDetails"
      ? CommandExecutionStatus.AWAITING_SHELL_CONFIRMATION
      : CommandExecutionStatus.AWAITING_ACTION_CONFIRMATION;
  return create(ExecuteSlashCommandResponseSchema, {
    executionId: task.id,
    status: asked === undefined ? CommandExecutionStatus.STARTED : awaiting,
  });
}
