import { create, isMessage, type JsonValue, type MessageInitShape } from "@bufbuild/protobuf";
import {
  CancelTaskRequestSchema,
  decodeRfcJson,
  ExecuteSlashCommandRequestSchema,
  ExecuteSlashCommandResponseSchema,
  emptyTask,
  encodeRfcJson,
  endsExchange,
  GetAllSlashCommandsResponseSchema,
  GetTaskRequestSchema,
  isTerminal,
  RunSlashCommandRequestSchema,
  RunSlashCommandResponseSchema,
  replyOf,
  type SendMessageRequest,
  SlashCommandService,
  StreamMessageRequestSchema,
  SubscribeTaskRequestSchema,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskSchema,
  TaskService,
} from "@devtool/schema";
import {
  decodeMessageSend,
  decodeSettings,
  decodeTaskId,
  decodeTaskQuery,
  encodeReply,
  encodeTask,
  JsonRpcCode,
} from "@devtool/schema/a2a-v03";
import { encodeCoderAgentTask } from "@devtool/schema/coder-agent";
import { Code, DevtoolError } from "../../errors.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { withOfferedOutcomes } from "../coder_agent/outcomes.ts";
import { outputRefusal } from "../output-modes.ts";
import { type Call, contextOf } from "./call.ts";
import type { CardOptions } from "./card.ts";
import { JsonRpcFailure } from "./errors.ts";
import { extendedCard } from "./extended-card.ts";
import { frameOf } from "./frames.ts";
import { withPlainAnswer } from "./plain-answer.ts";
import { inFormatOf, pushMethods } from "./push-methods.ts";

/** One frame of a stream: the JSON text of a `result`, and the sequence of its event. */
export interface Frame {
  readonly result: string;
  readonly id?: bigint;
}

/** What a method answers: one result, or a stream of them. */
export type Answer =
  | { readonly case: "result"; readonly value: JsonValue }
  | { readonly case: "stream"; readonly value: AsyncIterable<Frame> };

/** A method of A2A 0.3, or of the extension. */
export type Method = (call: Call) => Promise<Answer>;

/** The methods by their names, all in terms of our own services. */
export function createMethods(
  handler: RequestHandler,
  card: CardOptions & { readonly baseUrl: string },
): ReadonlyMap<string, Method> {
  return new Map<string, Method>([
    ["message/send", (call) => sendMessage(handler, call, card)],
    ["message/stream", async (call) => streamedExchange(handler, call, await messageOf(handler, call, card))],
    ["tasks/get", (call) => getTask(handler, call)],
    ["tasks/cancel", (call) => cancelTask(handler, call)],
    ["tasks/resubscribe", (call) => resubscribe(handler, call)],
    ...pushMethods(handler).map(
      ([name, run]) => [name, async (call: Call) => result(await run(call))] satisfies [string, Method],
    ),
    ["agent/getAuthenticatedExtendedCard", async (call) => result(await extendedCard(handler, call, card))],
    ["commands/get", (call) => getCommands(handler, call)],
    ["command/execute", (call) => executeCommand(handler, call)],
  ]);
}

async function sendMessage(handler: RequestHandler, call: Call, card: CardOptions): Promise<Answer> {
  const { historyLength } = decodeMessageSend(call.params);
  const request = await messageOf(handler, call, card);
  const answer = await handler.tasks.sendMessage(request, contextOf(call, TaskService.method.sendMessage));
  const task = create(TaskSchema, answer.task);
  const reply = call.view === "coder-agent" ? undefined : replyOf(task);
  return result(reply ? encodeReply(reply, task.contextId) : taskJson(task, call, historyLength));
}

/** The message of a call, with where to post its events in the form of the call. */
async function messageOf(handler: RequestHandler, call: Call, card: CardOptions): Promise<SendMessageRequest> {
  const { request: decoded, pushConfig } = decodeMessageSend(call.params);
  assertTakesOutput(decoded.message?.acceptedOutputModes ?? [], card.outputModes);
  const request = pushConfig ? { ...decoded, pushConfig: inFormatOf(call, pushConfig) } : decoded;
  if (call.view === "extension" || request.taskId === "" || !request.message) return request;
  const task = await taskOf(handler, call, request.taskId);
  const read = call.view === "plain" ? withPlainAnswer : withOfferedOutcomes;
  return { ...request, message: read(request.message, task) };
}

/** A client that takes nothing that there is gets no answer. */
function assertTakesOutput(modes: readonly string[], outputModes: readonly string[] | undefined): void {
  const refusal = outputRefusal(modes, outputModes);
  if (refusal !== undefined) throw new JsonRpcFailure(refusal, JsonRpcCode.CONTENT_TYPE_NOT_SUPPORTED);
}

function streamMessage(handler: RequestHandler, call: Call, request: SendMessageRequest): Responses {
  const wrapped = create(StreamMessageRequestSchema, { request });
  return handler.tasks.streamMessage(wrapped, contextOf(call, TaskService.method.streamMessage));
}

function streamedExchange(handler: RequestHandler, call: Call, request: SendMessageRequest): Answer {
  const responses = streamMessage(handler, call, request);
  if (call.view === "coder-agent") return stream(responses, call);
  return { case: "stream", value: shownFrames(responses, call) };
}

/** The frames of an exchange. Where the answer is a message alone only that is shown, or how the task came to none. */
async function* shownFrames(responses: Responses, call: Call): AsyncIterable<Frame> {
  let isHidden = false;
  for await (const response of responses) {
    if (!response.event) continue;
    const event = asEvent(response.event);
    const { payload, contextId } = event;
    if (payload.case === "created") isHidden = payload.value.replyOnly;
    if (isHidden && !endsExchange(event)) continue;
    const isReply = isHidden && payload.case === "reply";
    const frame = isReply ? { result: JSON.stringify(encodeReply(payload.value, contextId)) } : eventFrame(event, call);
    if (frame) yield frame;
  }
}

function subscribe(
  handler: RequestHandler,
  call: Call,
  from: { readonly taskId: string; readonly afterSequence: bigint },
): Responses {
  const request = create(SubscribeTaskRequestSchema, from);
  return handler.tasks.subscribeTask(request, contextOf(call, TaskService.method.subscribeTask));
}

/** What our services stream. */
type Responses = AsyncIterable<{ readonly event?: MessageInitShape<typeof TaskEventSchema> | undefined }>;

/** The event that a handler yields: the very one of the log, so that what was made of it is found again. */
function asEvent(event: MessageInitShape<typeof TaskEventSchema>): TaskEvent {
  return isMessage(event, TaskEventSchema) ? event : create(TaskEventSchema, event);
}

async function getTask(handler: RequestHandler, call: Call): Promise<Answer> {
  const { taskId, historyLength } = decodeTaskQuery(call.params);
  return result(taskJson(await taskOf(handler, call, taskId), call, historyLength));
}

async function taskOf(handler: RequestHandler, call: Call, taskId: string): Promise<Task> {
  const request = create(GetTaskRequestSchema, { taskId });
  const { task } = await handler.tasks.getTask(request, contextOf(call, TaskService.method.getTask));
  return create(TaskSchema, task ?? emptyTask());
}

async function cancelTask(handler: RequestHandler, call: Call): Promise<Answer> {
  const request = create(CancelTaskRequestSchema, { taskId: decodeTaskId(call.params) });
  try {
    const { task } = await handler.tasks.cancelTask(request, contextOf(call, TaskService.method.cancelTask));
    return result(taskJson(create(TaskSchema, task), call, undefined));
  } catch (reason) {
    if (!(reason instanceof DevtoolError) || reason.code !== Code.FailedPrecondition) throw reason;
    throw new JsonRpcFailure(reason.message, JsonRpcCode.TASK_NOT_CANCELABLE);
  }
}

/** With `Last-Event-ID`: what came after it. Without: the task as it is, then what comes. */
async function resubscribe(handler: RequestHandler, call: Call): Promise<Answer> {
  const taskId = decodeTaskId(call.params);
  const task = await taskOf(handler, call, taskId);
  if (call.lastEventId !== undefined) {
    return stream(subscribe(handler, call, { taskId, afterSequence: call.lastEventId }), call);
  }
  return { case: "stream", value: snapshotThenLive(handler, call, task) };
}

async function* snapshotThenLive(handler: RequestHandler, call: Call, task: Task): AsyncIterable<Frame> {
  yield { result: JSON.stringify(taskJson(task, call, undefined)), id: task.sequence };
  if (isTerminal(task.state)) return;
  yield* framesOf(subscribe(handler, call, { taskId: task.id, afterSequence: task.sequence }), call);
}

async function getCommands(handler: RequestHandler, call: Call): Promise<Answer> {
  const context = contextOf(call, SlashCommandService.method.getAllSlashCommands);
  const commands = await handler.commands.getAllSlashCommands(
    create(SlashCommandService.method.getAllSlashCommands.input, placeOf(call.params)),
    context,
  );
  return result(encodeRfcJson(GetAllSlashCommandsResponseSchema, create(GetAllSlashCommandsResponseSchema, commands)));
}

/** Answers how the command started; for a client that takes a stream, what it does follows (CMD-1). */
async function executeCommand(handler: RequestHandler, call: Call): Promise<Answer> {
  const request = create(RunSlashCommandRequestSchema, {
    command: decodeRfcJson(ExecuteSlashCommandRequestSchema, call.params ?? {}),
    ...placeOf(call.params),
  });
  const context = contextOf(call, SlashCommandService.method.runSlashCommand);
  const response = create(RunSlashCommandResponseSchema, await handler.commands.runSlashCommand(request, context));
  const started = response.result ?? create(ExecuteSlashCommandResponseSchema);
  const json = encodeRfcJson(ExecuteSlashCommandResponseSchema, started);
  if (!call.takesStream) return result(json);
  return { case: "stream", value: startedThenUpdates(handler, call, { json, taskId: started.executionId }) };
}

async function* startedThenUpdates(
  handler: RequestHandler,
  call: Call,
  { json, taskId }: { readonly json: JsonValue; readonly taskId: string },
): AsyncIterable<Frame> {
  yield { result: JSON.stringify(json) };
  if (taskId !== "") yield* framesOf(subscribe(handler, call, { taskId, afterSequence: 0n }), call);
}

/** The session of a command: beside the RFC's fields, `contextId` and `metadata` as a message has them. */
function placeOf(params: JsonValue | undefined): {
  contextId?: string;
  settings?: NonNullable<SendMessageRequest["settings"]>;
} {
  if (typeof params !== "object" || params === null || Array.isArray(params)) return {};
  const { contextId, metadata } = params;
  const isMap = typeof metadata === "object" && metadata !== null && !Array.isArray(metadata);
  const { settings } = decodeSettings(isMap ? metadata : undefined);
  return { ...(typeof contextId === "string" && { contextId }), ...(settings && { settings }) };
}

function taskJson(task: Task, { view }: Call, historyLength: number | undefined): JsonValue {
  if (view === "coder-agent") return encodeCoderAgentTask(task, historyLength);
  return encodeTask(task, { view, ...(historyLength !== undefined && { historyLength }) });
}

function result(value: JsonValue): Answer {
  return { case: "result", value };
}

function stream(responses: Responses, call: Call): Answer {
  return { case: "stream", value: framesOf(responses, call) };
}

async function* framesOf(responses: Responses, call: Call): AsyncIterable<Frame> {
  for await (const response of responses) {
    const frame = response.event && eventFrame(asEvent(response.event), call);
    if (frame) yield frame;
  }
}

/** The frame of an event; undefined when it has none. */
function eventFrame(event: TaskEvent, { view }: Call): Frame | undefined {
  const result = frameOf(event, view);
  return result === undefined ? undefined : { result, id: event.sequence };
}
