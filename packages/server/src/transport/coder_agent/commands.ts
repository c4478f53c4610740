import { create, fromJson, isMessage, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  CommandExecutionStatus,
  decodeRfcText,
  endsExchange,
  GetAllSlashCommandsResponseSchema,
  RunSlashCommandRequestSchema,
  RunSlashCommandResponseSchema,
  SlashCommandService,
  SubscribeTaskRequestSchema,
  type TaskEvent,
  TaskEventSchema,
  TaskService,
  TaskState,
} from "@devtool/schema";
import {
  ExecuteCommandRequestSchema,
  ExecuteCommandResponseSchema,
  encodeCommandList,
  settingsOf,
} from "@devtool/schema/coder-agent";
import { jsonRpcErrorFrom } from "../a2a_v03/errors.ts";
import { frameOf } from "../a2a_v03/frames.ts";
import { errorText, resultText } from "../a2a_v03/json-rpc.ts";
import type { Frame } from "../a2a_v03/methods.ts";
import { streamFrames } from "../a2a_v03/stream-frames.ts";
import { readBody } from "../body.ts";
import { headerOf, send } from "../route.ts";
import { contextFor, type Visit } from "./endpoint.ts";
import { HttpFailure } from "./errors.ts";

/** `GET /listCommands`. */
export async function listCommands(visit: Visit): Promise<void> {
  const method = SlashCommandService.method.getAllSlashCommands;
  const listed = await visit.handler.commands.getAllSlashCommands(create(method.input), contextFor(visit, method));
  const commands = create(GetAllSlashCommandsResponseSchema, listed);
  send(visit.response, 200, { body: JSON.stringify(encodeCommandList(commands)) });
}

/**
 * `POST /executeCommand`: `{name, data}` when the command has ended or asks something; for a client that takes a stream,
 * and for `init`, its updates as they come. What it asks is answered with a message to the task that it names.
 */
export async function executeCommand(visit: Visit): Promise<void> {
  const asked = decodeRfcText(ExecuteCommandRequestSchema, await readBody(visit.request, visit.maxRequestBytes));
  if (asked.command === "") throw new HttpFailure("command: is missing: name one of GET /listCommands", 400);
  const taskId = await start(visit, asked);
  visit.coderAgent.note(taskId, visit.principal);
  const isStream = asked.command === "init" || headerOf(visit.request, "accept").includes("text/event-stream");
  if (isStream) await streamUpdates(visit, taskId);
  else await sendOutcome(visit, asked.command, taskId);
}

type Asked = ReturnType<typeof create<typeof ExecuteCommandRequestSchema>>;

async function start(visit: Visit, { command, args, contextId, agentSettings }: Asked): Promise<string> {
  const { settings } = agentSettings ? settingsOf(agentSettings) : {};
  const commandPath = command.split(" ").filter((word) => word !== "");
  const request = create(RunSlashCommandRequestSchema, {
    command: { commandPath, args: args.join(" ") },
    contextId,
    ...(settings && { settings }),
  });
  const context = contextFor(visit, SlashCommandService.method.runSlashCommand);
  const answer = await visit.handler.commands.runSlashCommand(request, context);
  const { result } = create(RunSlashCommandResponseSchema, answer);
  if (result && result.status !== CommandExecutionStatus.FAILED_TO_START) return result.executionId;
  const message = result?.message ?? "the command did not start";
  throw new HttpFailure(message, message.includes("does not exist") ? 404 : 400);
}

/** The events of a command up to where it ends or asks. */
async function* eventsOf(visit: Visit, taskId: string): AsyncIterable<TaskEvent> {
  const request = create(SubscribeTaskRequestSchema, { taskId });
  const context = contextFor(visit, TaskService.method.subscribeTask);
  for await (const { event: init } of visit.handler.tasks.subscribeTask(request, context)) {
    if (!init) continue;
    const event = isMessage(init, TaskEventSchema) ? init : create(TaskEventSchema, init);
    yield event;
    if (endsExchange(event)) return;
  }
}

async function streamUpdates(visit: Visit, taskId: string): Promise<void> {
  const id = JSON.stringify(taskId);
  await streamFrames(visit.response, framesOf(eventsOf(visit, taskId)), {
    headers: {},
    heartbeatMs: visit.heartbeatMs,
    shutdown: visit.shutdown,
    data: (result) => resultText(id, result),
    error: (reason) => errorText(id, jsonRpcErrorFrom(reason)),
  });
}

async function* framesOf(events: AsyncIterable<TaskEvent>): AsyncIterable<Frame> {
  for await (const event of events) {
    const result = frameOf(event, "coder-agent");
    if (result !== undefined) yield { result, id: event.sequence };
  }
}

async function sendOutcome(visit: Visit, name: string, taskId: string): Promise<void> {
  let text = "";
  let state = TaskState.WORKING;
  for await (const { payload, ...event } of eventsOf(visit, taskId)) {
    if (payload.case === "text") text += payload.value.text;
    if (payload.case === "stateChange") text += payload.value.error;
    state = event.state;
  }
  if (state === TaskState.FAILED) throw new HttpFailure(text, 500);
  const waits = state === TaskState.INPUT_REQUIRED ? "The command waits for your approval." : "";
  const data = fromJson(ValueSchema, text || waits);
  const outcome = create(ExecuteCommandResponseSchema, { name, data, taskId });
  send(visit.response, 200, { body: JSON.stringify(toJson(ExecuteCommandResponseSchema, outcome)) });
}
