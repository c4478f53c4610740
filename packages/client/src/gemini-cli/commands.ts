import {
  create,
  type JsonObject,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { quoteInexactNumbers } from "@devtool/internal/exact-json";
import { defined } from "@devtool/internal/json";
import {
  CommandExecutionStatus,
  decodeRfcText,
  type ExecuteSlashCommandRequest,
  ExecuteSlashCommandRequestSchema,
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
import { readCommands } from "../a2a/commands.ts";
import { readText } from "../a2a/response-text.ts";
import { isEventStream } from "../a2a/server-sent-events.ts";
import { assertNoAgent, assertSettings } from "./assert-sendable.ts";
import {
  errorFromResponse,
  type GeminiCliEndpoint,
  readErrorMessage,
} from "./endpoint.ts";
import type { RecordedTask, RecordedTasks } from "./recorded-task.ts";
import { taskIdFrom } from "./tasks.ts";

/**
 * Creates the slash-command service over the dialect. The server answers only
 * when a command has ended or waits for approval.
 */
export function createGeminiCliCommandService(
  endpoint: GeminiCliEndpoint,
  recorded: RecordedTasks,
): ServiceImpl<typeof SlashCommandService> {
  let runs = 0;
  return {
    async getAllSlashCommands({ sessionSettings }, { signal }) {
      assertNoAgent(sessionSettings?.agent ?? "");
      const json = (await endpoint.get("/listCommands", signal)) ?? null;
      return readCommands(json, decodeCommandList, endpoint.onLeftOut);
    },
    async runSlashCommand(request, { signal }) {
      const command =
        request.command ?? create(ExecuteSlashCommandRequestSchema);
      const response = await endpoint.request("/executeCommand", {
        ...requestInit(request, command),
        signal,
      });
      if (response.status === 400 || response.status === 404) {
        const message = await readErrorMessage(response);
        return {
          result: { status: CommandExecutionStatus.FAILED_TO_START, message },
        };
      }
      if (!response.ok) throw await errorFromResponse(response);
      const { task } = isEventStream(response)
        ? await recordStream(response, recorded)
        : recordOutput(
            await readText(response),
            command,
            `command-${++runs}`,
            recorded,
          );
      const question =
        openToolCalls(task).find(isAwaitingApproval)?.confirmationRequest
          ?.details.case;
      const awaiting =
        question === "executeDetails"
          ? CommandExecutionStatus.AWAITING_SHELL_CONFIRMATION
          : CommandExecutionStatus.AWAITING_ACTION_CONFIRMATION;
      const status =
        question === undefined ? CommandExecutionStatus.STARTED : awaiting;
      return { result: { executionId: task.id, status } };
    },
  };
}

/**
 * Encodes a command. The dialect joins its path to one name. A server that
 * knows only `{command, args}` ignores the other fields.
 */
function requestInit(
  { settings, sessionSettings, contextId }: RunSlashCommandRequest,
  { commandPath, args }: ExecuteSlashCommandRequest,
): RequestInit {
  if (sessionSettings) assertSettings(sessionSettings);
  const body: JsonObject = defined({
    command: commandPath.join(" "),
    args: args === "" ? [] : [args],
    agentSettings:
      settings || sessionSettings
        ? toJson(
            GeminiCliSettingsSchema,
            encodeGeminiCliSettings({ settings, sessionSettings }),
          )
        : undefined,
    contextId: contextId === "" ? undefined : contextId,
  });
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream, application/json",
  };
  return { method: "POST", headers, body: JSON.stringify(body) };
}

/**
 * Records the updates of a command until its turn ends. Each line is a frame:
 * the server ends its frames with a single newline, so they cannot be parsed as
 * server-sent events.
 */
async function recordStream(
  response: Response,
  recorded: RecordedTasks,
): Promise<RecordedTask> {
  let known: RecordedTask | undefined;
  for (const line of (await readText(response)).split("\n")) {
    if (!line.startsWith("data:")) continue;
    const data = quoteInexactNumbers(line.slice("data:".length));
    const { result } = JSON.parse(data);
    known ??= recorded.open(taskIdFrom(result));
    known.appendFrame(result);
  }
  return known ?? recorded.open("");
}

/**
 * Records the output of a command as the events of a task that has ended.
 */
function recordOutput(
  body: string,
  command: ExecuteSlashCommandRequest,
  ownId: string,
  recorded: RecordedTasks,
): RecordedTask {
  const { data, taskId: givenId } = decodeRfcText(
    ExecuteCommandResponseSchema,
    body,
  );
  const json = data ? toJson(ValueSchema, data) : "";
  const text =
    typeof json === "string" ? json : JSON.stringify(json, undefined, 2);
  const taskId = givenId || ownId;
  const known = recorded.open(taskId);
  const events: readonly Pick<
    MessageInitShape<typeof TaskEventSchema>,
    "state" | "payload"
  >[] = [
    {
      state: TaskState.SUBMITTED,
      payload: { case: "created", value: { command } },
    },
    { state: TaskState.WORKING, payload: { case: "text", value: { text } } },
    { state: TaskState.COMPLETED, payload: { case: "stateChange", value: {} } },
  ];
  for (const event of events) {
    const sequence = known.task.sequence + 1n;
    known.append(
      create(TaskEventSchema, {
        ...event,
        sequence,
        taskId,
        contextId: taskId,
      }),
    );
  }
  return known;
}
