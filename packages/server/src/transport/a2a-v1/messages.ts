import { create, type JsonObject } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import {
  type Artifact,
  emptyTask,
  endsExchange,
  exchangeHistory,
  isTerminal,
  type Replay,
  reduceTask,
  replyOf,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import {
  type A2aSendMessageRequest,
  type A2aTask,
  replyToA2a,
  type SendMessageResponse,
  SendMessageResponseSchema,
  type StreamResponse,
  StreamResponseSchema,
  streamResponseOf,
  taskToA2a,
} from "@devtool/schema/a2a-v1";
import { withReplay } from "@devtool/schema/a2a-v03";
import {
  findTask,
  type RequestHandler,
} from "../../handler/request-handler.ts";
import { enterView } from "../a2a/activation.ts";
import { firstEventOf } from "../a2a/subscription.ts";
import { answeredEnd, exchangeTask } from "../a2a/turn-answer.ts";
import type { A2aV1Call } from "./call.ts";
import type { SequencedResponse } from "./frames.ts";
import type { A2aServiceOptions } from "./options.ts";
import { endedError, readSending, type Sending } from "./sending.ts";

/**
 * Sends a message, and returns the task at the end of the exchange, or the
 * message that is the whole answer.
 */
export async function sendMessage(
  options: A2aServiceOptions,
  asked: A2aSendMessageRequest,
  call: A2aV1Call,
): Promise<SendMessageResponse> {
  const { request, historyLength } = await readSending(options, asked, call);
  const { tasks } = options.handler;
  const sent = await tasks.sendMessage(request, call.context);
  const { task = emptyTask(), replay } = sent;
  const reply = replyOf(task);
  if (reply) {
    const value = markReplay(replyToA2a(reply, task.contextId), replay);
    return create(SendMessageResponseSchema, {
      payload: { case: "message", value },
    });
  }
  const { answer: artifact, ...exchange } = await exchangeTask(
    options.handler,
    call.context,
    task,
    {
      historyLength,
      messageId: request.message?.messageId ?? "",
    },
  );
  const value = markReplay(
    taskFor(call, exchange.task, { historyLength, answer: artifact }),
    replay,
  );
  return create(SendMessageResponseSchema, {
    payload: { case: "task", value },
  });
}

/**
 * Sends a message, and yields its exchange: the task and its updates, or only
 * the message that is the whole answer.
 */
export async function* streamMessage(
  options: A2aServiceOptions,
  asked: A2aSendMessageRequest,
  call: A2aV1Call,
): AsyncIterable<StreamResponse> {
  const { tasks } = options.handler;
  const sending = await readSending(options, asked, call);
  const { request } = sending;
  let isOpen = false;
  let isHidden = false;
  let replay: Replay | undefined;
  for await (const response of tasks.streamMessage({ request }, call.context)) {
    const { event } = response;
    if (!event) continue;
    replay = response.replay ?? replay;
    const { payload, contextId } = event;
    if (payload.case === "created") isHidden = payload.value.replyOnly;
    if (isHidden && !endsExchange(event)) continue;
    if (isHidden && payload.case === "reply") {
      const value = markReplay(replyToA2a(payload.value, contextId), replay);
      return yield create(StreamResponseSchema, {
        payload: { case: "message", value },
      });
    }
    if (isOpen && endsExchange(event)) {
      const { messageId } = request.message ?? {};
      yield* await endResponses(options.handler, call, event, messageId);
    } else if (isOpen) {
      const response = call.responseFor(event, enterView(call, event));
      if (response) yield response;
    } else {
      isOpen = true;
      const task = await openingTask(options.handler, sending, event, call);
      yield snapshot(call, task, sending.historyLength, replay);
    }
  }
}

/**
 * Yields a task as it is, then its updates until it ends.
 *
 * With `Last-Event-ID`, yields what came after that event instead; for the task
 * of a command all of it.
 */
export async function* subscribe(
  handler: RequestHandler,
  taskId: string,
  call: A2aV1Call,
): AsyncIterable<StreamResponse> {
  const isResumed = call.lastEventId !== undefined;
  const messages = isResumed ? () => 0 : undefined;
  let task = await findTask(handler, call, taskId, messages);
  const lastEventId = call.lastEventId ?? firstEventOf(task);
  if (lastEventId === undefined && isTerminal(task.state)) {
    throw endedError(task, "get it instead of subscribing");
  }
  const from = { taskId, afterSequence: lastEventId ?? task.sequence };
  const events = handler.tasks.subscribeTask(from, call.context);
  if (lastEventId === undefined) yield snapshot(call, task);
  // An idle stream does not keep the history.
  task = { ...task, history: [], artifacts: [] };
  for await (const { event } of events) {
    if (!event) continue;
    const extensionActive = task.extensionActive || event.extensionActive;
    const view = enterView(call, { extensionActive });
    if (endsExchange(event)) {
      yield* await endResponses(handler, { ...call, view }, event);
    } else {
      const response = call.responseFor(event, view);
      if (response) yield response;
    }
  }
}

/**
 * Returns the elements for an event that ends an exchange: in the plain view,
 * the answer comes before it (STREAM-10).
 *
 * Only the end has the sequence, so that a client that resumes between the two
 * gets both again.
 *
 * @param messageId - The message whose exchange ends. Default: the last one.
 */
async function endResponses(
  handler: RequestHandler,
  call: A2aV1Call,
  event: TaskEvent,
  messageId?: string,
): Promise<StreamResponse[]> {
  const view = enterView(call, event);
  const answered =
    view === "plain"
      ? await answeredEnd(handler, call.context, event, messageId)
      : undefined;
  const answer = answered && streamResponseOf(answered.answer, view);
  const end = call.responseFor(answered?.end ?? event, view);
  return [answer, end].filter((response) => response !== undefined);
}

/**
 * Returns a task of A2A 1.0 in the view of a call. `options` have all but the
 * view.
 */
export function taskFor(
  call: A2aV1Call,
  task: Task,
  options: {
    readonly historyLength?: number | undefined;
    readonly answer?: Artifact | undefined;
  } = {},
): A2aTask {
  return taskToA2a(task, defined({ ...options, view: enterView(call, task) }));
}

/**
 * Returns the task with which the stream of an exchange begins: its state right
 * after the first event of the exchange.
 *
 * Its history is that of the exchange, unless the client asks for a length
 * (STREAM-9).
 */
async function openingTask(
  handler: RequestHandler,
  { request, before, historyLength }: Sending,
  first: TaskEvent,
  call: A2aV1Call,
): Promise<Task> {
  let task = first.sequence > before.sequence ? before : emptyTask();
  if (first.sequence === task.sequence + 1n) {
    task = reduceTask(task, first);
  } else {
    // The message is a retry, or other events came between: reads the log up to
    // its first event.
    const from = { taskId: first.taskId, afterSequence: task.sequence };
    const events = handler.tasks.subscribeTask(from, call.context);
    for await (const { event } of events) {
      if (event) task = reduceTask(task, event);
      if (task.sequence >= first.sequence) break;
    }
  }
  if (historyLength !== undefined) return task;
  return {
    ...task,
    history: exchangeHistory(task, request.message?.messageId ?? ""),
  };
}

/** Returns a whole task as an element of a stream. */
function snapshot(
  call: A2aV1Call,
  task: Task,
  historyLength?: number,
  replay?: Replay,
): SequencedResponse {
  const value = markReplay(taskFor(call, task, { historyLength }), replay);
  const response = create(StreamResponseSchema, {
    payload: { case: "task", value },
  });
  return { ...response, sequence: task.sequence, view: enterView(call, task) };
}

/**
 * Marks a task or message as the repetition of an earlier exchange (STREAM-7).
 *
 * Without a replay, returns it as it is.
 */
function markReplay<T extends { readonly metadata?: JsonObject | undefined }>(
  value: T,
  replay: Replay | undefined,
): T {
  return replay
    ? { ...value, metadata: withReplay(value.metadata, replay) }
    : value;
}
