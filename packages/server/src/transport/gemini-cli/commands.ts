import { create, fromJson, isMessage, type MessageShape, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import {
  CommandExecutionStatus,
  decodeRfcText,
  endsExchange,
  type GetAllSlashCommandsResponse,
  GetAllSlashCommandsResponseSchema,
  RunSlashCommandRequestSchema,
  RunSlashCommandResponseSchema,
  type SlashCommand,
  SlashCommandService,
  SubscribeTaskRequestSchema,
  type TaskEvent,
  TaskEventSchema,
  TaskService,
  TaskState,
} from "@devtool/schema";
import { JsonRpcErrorSchema } from "@devtool/schema/a2a-v03";
import {
  ExecuteCommandRequestSchema,
  ExecuteCommandResponseSchema,
  encodeCommandList,
  settingsOf,
} from "@devtool/schema/gemini-cli";
import { jsonRpcErrorFrom } from "../a2a/json-rpc-errors.ts";
import type { Frame } from "../http/answer.ts";
import { readBody } from "../http/body.ts";
import { errorText, resultText } from "../http/json-rpc.ts";
import { headerOf, send } from "../http/route.ts";
import { streamFrames } from "../http/stream-frames.ts";
import { contextFor, type Visit } from "./endpoint.ts";
import { HttpFailure } from "./errors.ts";
import { eventFrame } from "./frames.ts";

/** `GET /listCommands`. */
export async function listCommands(visit: Visit): Promise<void> {
  const listed = await commandsOf(visit, create(METHODS.getAllSlashCommands.input));
  send(visit.response, 200, { body: JSON.stringify(encodeCommandList(listed)) });
}

const METHODS = SlashCommandService.method;

async function commandsOf(
  visit: Visit,
  where: MessageShape<typeof METHODS.getAllSlashCommands.input>,
): Promise<GetAllSlashCommandsResponse> {
  const context = contextFor(visit, METHODS.getAllSlashCommands);
  const listed = await visit.handler.commands.getAllSlashCommands(where, context);
  return create(GetAllSlashCommandsResponseSchema, listed);
}

/**
 * `POST /executeCommand`: `{name, data}` when the command has ended or asks something; for a client that takes a stream,
 * and for `init`, its updates as they come. What it asks is answered with a message to the task that it names.
 */
export async function executeCommand(visit: Visit): Promise<void> {
  const asked = decodeRfcText(ExecuteCommandRequestSchema, await readBody(visit.request, visit.maxRequestBytes));
  if (asked.command === "") throw new HttpFailure("command: is missing: name one of GET /listCommands", 400);
  // What it does is subscribed to in every case, so the stream is counted before anything runs.
  const context = contextFor(visit, TaskService.method.subscribeTask);
  using _stream = visit.handler.streams.enter(context);
  const taskId = await start(visit, asked);
  const events = eventsOf(visit, taskId, context);
  visit.geminiCli.note(taskId, visit.principal);
  const isStream = asked.command === "init" || headerOf(visit.request, "accept").includes("text/event-stream");
  if (isStream) await streamUpdates(visit, taskId, events);
  else await sendOutcome(visit, { name: asked.command, taskId }, events);
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
  const context = contextFor(visit, METHODS.runSlashCommand);
  const answer = await visit.handler.commands.runSlashCommand(request, context);
  const { result } = create(RunSlashCommandResponseSchema, answer);
  if (result && result.status !== CommandExecutionStatus.FAILED_TO_START) return result.executionId;
  const where = create(METHODS.getAllSlashCommands.input, { contextId, ...(settings && { settings }) });
  const { commands } = await commandsOf(visit, where);
  const message = result?.message ?? "the command did not start";
  throw new HttpFailure(message, isListed(commandPath, commands) ? 400 : 404);
}

/** Whether a list has a command of these words. */
function isListed([word, ...below]: readonly string[], commands: readonly SlashCommand[]): boolean {
  if (word === undefined) return true;
  const command = commands.find(({ name }) => name === word);
  return command !== undefined && isListed(below, command.subCommands);
}

/** The events of a command up to where it ends or asks. */
async function* eventsOf({ handler }: Visit, taskId: string, context: HandlerContext): AsyncIterable<TaskEvent> {
  const request = create(SubscribeTaskRequestSchema, { taskId });
  for await (const { event: init } of handler.tasks.subscribeTask(request, context)) {
    if (!init) continue;
    const event = isMessage(init, TaskEventSchema) ? init : create(TaskEventSchema, init);
    yield event;
    if (endsExchange(event)) return;
  }
}

async function streamUpdates(visit: Visit, taskId: string, events: AsyncIterable<TaskEvent>): Promise<void> {
  const id = JSON.stringify(taskId);
  await streamFrames(visit.response, framesOf(events), {
    endpoint: visit,
    headers: () => ({}),
    data: (result) => resultText(id, result),
    error: (reason) => errorText(id, toJson(JsonRpcErrorSchema, jsonRpcErrorFrom(reason))),
  });
}

async function* framesOf(events: AsyncIterable<TaskEvent>): AsyncIterable<Frame> {
  for await (const event of events) {
    const frame = eventFrame(event, event.taskId);
    if (frame) yield frame;
  }
}

async function sendOutcome(
  visit: Visit,
  { name, taskId }: { readonly name: string; readonly taskId: string },
  events: AsyncIterable<TaskEvent>,
): Promise<void> {
  let text = "";
  let state = TaskState.WORKING;
  for await (const { payload, ...event } of events) {
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
