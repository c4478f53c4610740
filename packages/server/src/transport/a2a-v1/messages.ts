import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  confirmationsOf,
  emptyTask,
  endsExchange,
  exchangeHistory,
  GetTaskRequestSchema,
  isTerminal,
  type Message,
  type Replay,
  ReplaySchema,
  reduceTask,
  replyOf,
  type SendMessageRequest,
  StreamMessageRequestSchema,
  SubscribeTaskRequestSchema,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskSchema,
  takesMode,
} from "@devtool/schema";
import {
  type A2aPart,
  type A2aSendMessageRequest,
  type A2aTask,
  replyToA2a,
  type SendMessageResponse,
  SendMessageResponseSchema,
  type StreamResponse,
  StreamResponseSchema,
  sendRequestFromA2a,
  taskToA2a,
} from "@devtool/schema/a2a-v1";
import { withReplay } from "@devtool/schema/a2a-v03";
import { invalid } from "../../errors.ts";
import { agentOf } from "../../handler/addressed-agent.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { outputRefusal } from "../a2a/output-modes.ts";
import { withPlainAnswer } from "../a2a/plain-answer.ts";
import { type Call, shownView } from "./call.ts";
import { A2aFailure } from "./errors.ts";
import { withSequence } from "./frames.ts";
import type { A2aServiceOptions } from "./options.ts";
import { configOf } from "./push-configs.ts";

/** A message that may be sent: what was asked for in our own terms. */
interface Sending {
  readonly request: SendMessageRequest;
  /** The task that it goes to, as it is before; empty for a new one. */
  readonly before: Task;
  readonly historyLength: number | undefined;
}

/** Sends a message and gives the task as the exchange left it, or the message that is the whole answer. */
export async function sendMessage(
  options: A2aServiceOptions,
  asked: A2aSendMessageRequest,
  call: Call,
): Promise<SendMessageResponse> {
  const { request, historyLength } = await sendingOf(options, asked, call);
  const answer = await options.handler.tasks.sendMessage(request, call.context);
  const task = create(TaskSchema, answer.task);
  // The answer has the history of its exchange; whoever counts messages counts those of the whole task.
  const shown =
    historyLength === undefined ? task : { ...task, history: (await taskOf(options.handler, task.id, call)).history };
  const reply = replyOf(task);
  const replay = answer.replay && create(ReplaySchema, answer.replay);
  return create(SendMessageResponseSchema, {
    payload: reply
      ? { case: "message", value: marked(replyToA2a(reply, task.contextId), replay) }
      : { case: "task", value: marked(a2aTask(shown, call, historyLength), replay) },
  });
}

/** A task or message that says that it repeats an earlier exchange, when it does (STREAM-7). */
function marked<T extends { readonly metadata?: JsonObject | undefined }>(value: T, replay: Replay | undefined): T {
  return replay ? { ...value, metadata: withReplay(value.metadata, replay) } : value;
}

/** Sends a message and streams its exchange: the task first, then its updates; or nothing but the message that answers it. */
export async function* streamMessage(
  options: A2aServiceOptions,
  asked: A2aSendMessageRequest,
  call: Call,
): AsyncIterable<StreamResponse> {
  const { handler } = options;
  const { request, before, historyLength } = await sendingOf(options, asked, call);
  const wrapped = create(StreamMessageRequestSchema, { request });
  const messageId = request.message?.messageId ?? "";
  let isOpen = false;
  let isHidden = false;
  let replay: Replay | undefined;
  for await (const { event, replay: told } of handler.tasks.streamMessage(wrapped, call.context)) {
    if (told) replay = create(ReplaySchema, told);
    const next = create(TaskEventSchema, event);
    if (next.payload.case === "created") isHidden = next.payload.value.replyOnly;
    if (isHidden && !endsExchange(next)) continue;
    if (isHidden && next.payload.case === "reply") {
      return yield replied(next, next.payload.value, replay);
    }
    const response = isOpen
      ? call.responseOf(next, shownView(call, next))
      : snapshot(await openedTask(handler, { before, event: next, historyLength, messageId }, call), call, {
          historyLength,
          replay,
        });
    isOpen = true;
    if (response) yield response;
  }
}

/** Streams a task as it is and its updates to its end; with `Last-Event-ID` what came after it, and no snapshot. */
export async function* subscribe(handler: RequestHandler, taskId: string, call: Call): AsyncIterable<StreamResponse> {
  const task = await taskOf(handler, taskId, call);
  if (call.lastEventId === undefined && isTerminal(task.state)) throw ended(task, "get it instead of subscribing");
  const from = create(SubscribeTaskRequestSchema, { taskId, afterSequence: call.lastEventId ?? task.sequence });
  const events = handler.tasks.subscribeTask(from, call.context);
  if (call.lastEventId === undefined) yield snapshot(task, call, {});
  for await (const { event } of events) {
    const next = create(TaskEventSchema, event);
    const response = call.responseOf(
      next,
      shownView(call, { extensionActive: task.extensionActive || next.extensionActive }),
    );
    if (response) yield response;
  }
}

/** Gets a task; throws when the caller has none of this id. */
export async function taskOf(handler: RequestHandler, taskId: string, call: Call): Promise<Task> {
  const { task } = await handler.tasks.getTask(create(GetTaskRequestSchema, { taskId }), call.context);
  return create(TaskSchema, task ?? emptyTask());
}

/** A task as A2A 1.0 shows it in a view. */
export function a2aTask(task: Task, call: Call, historyLength: number | undefined): A2aTask {
  return taskToA2a(task, { view: shownView(call, task), ...(historyLength !== undefined && { historyLength }) });
}

function replied({ contextId }: TaskEvent, reply: Message, replay: Replay | undefined): StreamResponse {
  const value = marked(replyToA2a(reply, contextId), replay);
  return create(StreamResponseSchema, { payload: { case: "message", value } });
}

/** Throws when a limit of the history is none. */
export function assertHistoryLength(historyLength: number | undefined, field: string): void {
  if (historyLength === undefined || historyLength >= 0) return;
  throw invalid(field, String(historyLength), "must be 0 or more");
}

async function sendingOf(options: A2aServiceOptions, asked: A2aSendMessageRequest, call: Call): Promise<Sending> {
  const { configuration } = asked;
  assertHistoryLength(configuration?.historyLength, "configuration.historyLength");
  assertTakesOutput(configuration?.acceptedOutputModes ?? [], outputModesOf(options, call));
  assertTakesInput(asked.message?.parts ?? [], options.inputModes ?? []);
  const push = configuration?.taskPushNotificationConfig;
  const read = sendRequestFromA2a(asked);
  const pushConfig = push && configOf(push, call);
  const request = { ...read, activateExtension: call.activates, ...(pushConfig && { pushConfig }) };
  const historyLength = configuration?.historyLength;
  if (request.taskId === "") return { request, before: emptyTask(), historyLength };
  const before = await taskOf(options.handler, request.taskId, call);
  if (isTerminal(before.state)) return { ...continuation(request, before, options), historyLength };
  return { request: call.view === "extension" ? request : answered(request, before), before, historyLength };
}

/** The media types of what the agent answers with that a call is addressed to. */
function outputModesOf({ agents, outputModes }: A2aServiceOptions, { context }: Call): readonly string[] | undefined {
  const about = agents?.get(agentOf(context));
  return about ? about.outputModes : outputModes;
}

/** The answer of a client that does not know the extension, in words, as the extension has it. */
function answered(request: SendMessageRequest, task: Task): SendMessageRequest {
  return request.message ? { ...request, message: withPlainAnswer(request.message, task) } : request;
}

/**
 * A task that has ended is closed in A2A 1.0 (section 3.4): a message to it begins a new task in the same context, which
 * refers to it (STREAM-5). A message that the task knows already is a retry, and the handler finds its exchange.
 */
function continuation(
  request: SendMessageRequest,
  before: Task,
  { endedTask }: A2aServiceOptions,
): Omit<Sending, "historyLength"> {
  const { message, contextId } = request;
  if (contextId !== "" && contextId !== before.contextId) {
    const problem = `is not the context of task ${JSON.stringify(before.id)}`;
    throw invalid("message.contextId", contextId, problem, "send its own, or none");
  }
  if (endedTask === "refuse") {
    throw ended(before, "send the message with its contextId, with its id in referenceTaskIds and without taskId");
  }
  if (!message || before.history.some(({ messageId }) => messageId === message.messageId)) return { request, before };
  // An answer is to a question of this very task: who gives it is told what became of that (TOOL-5).
  if (confirmationsOf(message).length > 0) return { request, before };
  const referenceTaskIds = [...new Set([...message.referenceTaskIds, before.id])];
  const continued = { ...request, taskId: "", contextId: before.contextId, message: { ...message, referenceTaskIds } };
  return { request: continued, before: emptyTask() };
}

function ended({ id }: Task, remedy: string): A2aFailure {
  const message = `task ${JSON.stringify(id)} has ended: ${remedy}`;
  return new A2aFailure(message, "UNSUPPORTED_OPERATION", { taskId: id });
}

/** A client that takes nothing that there is gets no answer. */
function assertTakesOutput(modes: readonly string[], outputModes: readonly string[] | undefined): void {
  const refusal = outputRefusal(modes, outputModes);
  if (refusal === undefined) return;
  throw new A2aFailure(refusal, "CONTENT_TYPE_NOT_SUPPORTED", { acceptedOutputModes: modes.join(", ") });
}

/** Every part that says its media type must be of one that is taken (section 3.1.1); none listed takes all. */
function assertTakesInput(parts: readonly A2aPart[], inputModes: readonly string[]): void {
  const odd = parts.map(mediaTypeOf).find((type) => type !== "" && !takesMode(inputModes, type));
  if (odd === undefined) return;
  const message = `media type ${JSON.stringify(odd.slice(0, 80))} is not taken: send ${inputModes.join(" or ")}`;
  throw new A2aFailure(message, "CONTENT_TYPE_NOT_SUPPORTED", { mediaType: odd.slice(0, 80) });
}

/** Data has no media type of its own in older messages, so some clients write it into its metadata. */
function mediaTypeOf({ mediaType, metadata }: A2aPart): string {
  const { contentType } = metadata ?? {};
  return mediaType !== "" || typeof contentType !== "string" ? mediaType : contentType;
}

/** Where an exchange begins. */
interface Opening {
  /** The task as it was known before the message was sent. */
  readonly before: Task;
  /** The first event of the exchange. */
  readonly event: TaskEvent;
  readonly messageId: string;
  readonly historyLength: number | undefined;
}

/** The task with which the stream of an exchange begins, with the history of the exchange unless a length is asked for (STREAM-9). */
async function openedTask(handler: RequestHandler, opening: Opening, call: Call): Promise<Task> {
  const task = await taskAt(handler, opening, call);
  return opening.historyLength === undefined ? { ...task, history: exchangeHistory(task, opening.messageId) } : task;
}

/** The task right after the first event of its exchange; exact also when it went on meanwhile. */
async function taskAt(
  handler: RequestHandler,
  { before, event }: Pick<Opening, "before" | "event">,
  call: Call,
): Promise<Task> {
  if (event.sequence === before.sequence + 1n) return reduceTask(before, event);
  // A message that comes again begins before what is known of the task.
  let task = event.sequence > before.sequence ? before : emptyTask();
  const rest = create(SubscribeTaskRequestSchema, { taskId: event.taskId, afterSequence: task.sequence });
  for await (const { event: earlier } of handler.tasks.subscribeTask(rest, call.context)) {
    task = reduceTask(task, create(TaskEventSchema, earlier));
    if (task.sequence >= event.sequence) break;
  }
  return task;
}

function snapshot(
  task: Task,
  call: Call,
  { historyLength, replay }: { readonly historyLength?: number | undefined; readonly replay?: Replay | undefined },
): StreamResponse {
  const value = marked(a2aTask(task, call, historyLength), replay);
  return withSequence(create(StreamResponseSchema, { payload: { case: "task", value } }), task.sequence);
}
