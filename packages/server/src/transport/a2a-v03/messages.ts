import type { JsonValue, MessageShape } from "@bufbuild/protobuf";
import { defined, isObject } from "@devtool/internal/json";
import {
  emptyTask,
  endsExchange,
  type Replay,
  replyOf,
  type SendMessageRequest,
  type Task,
  type TaskEvent,
  type TaskService,
} from "@devtool/schema";
import {
  type decodeMessageSend,
  encodeReply,
  withReplay,
} from "@devtool/schema/a2a-v03";
import {
  findTask,
  type RequestHandler,
} from "../../handler/request-handler.ts";
import { viewOf } from "../a2a/activation.ts";
import { assertTakesOutput, type MethodCall } from "../a2a/method.ts";
import { withPlainAnswer } from "../a2a/plain-answer.ts";
import { withRecipient } from "../a2a/recipient.ts";
import { firstEventOf, subscriptionFrames } from "../a2a/subscription.ts";
import { exchangeTask } from "../a2a/turn-answer.ts";
import type { DialectServices } from "../dialect.ts";
import type { Frame } from "../http/answer.ts";
import { encoderFor, encodeTaskFor, endFrames, eventFrame } from "./frames.ts";
import { withFormat } from "./push-configs.ts";

/** The parameters of `message/send` and `message/stream`. */
type MessageSend = ReturnType<typeof decodeMessageSend>;

type StreamResponse = MessageShape<
  typeof TaskService.method.streamMessage.output
>;

/**
 * Sends a message, and returns the task at the end of the exchange, or the
 * message that is the whole answer.
 */
export async function sendMessage(
  services: DialectServices,
  asked: MessageSend,
  call: MethodCall,
): Promise<JsonValue> {
  const { handler } = services;
  const request = await sendRequestFor(services, asked, call);
  const { task = emptyTask(), replay } = await handler.tasks.sendMessage(
    request,
    call.context,
  );
  const reply = replyOf(task);
  const json = reply
    ? encodeReply(reply, task.contextId)
    : await encodeExchange(handler, asked, call, task);
  return replay ? markReplay(json, replay) : json;
}

/** Encodes the task that answers a message. */
async function encodeExchange(
  handler: RequestHandler,
  { request, historyLength }: MessageSend,
  call: MethodCall,
  answered: Task,
): Promise<JsonValue> {
  const messageId = request.message?.messageId ?? "";
  const { task, answer } = await exchangeTask(handler, call.context, answered, {
    historyLength,
    messageId,
  });
  return encodeTaskFor(call, task, defined({ historyLength, answer }));
}

/** Sends a message, and returns the frames of its exchange. */
export async function streamMessage(
  services: DialectServices,
  asked: MessageSend,
  call: MethodCall,
): Promise<AsyncIterable<Frame>> {
  const { handler } = services;
  const request = await sendRequestFor(services, asked, call);
  const responses = handler.tasks.streamMessage({ request }, call.context);
  return exchangeFrames(responses, call, (event) =>
    endFrames(handler, call, event, request.message?.messageId),
  );
}

/**
 * Subscribes to a task until it rests.
 *
 * With `Last-Event-ID`, the stream begins with the event after it. Without, it
 * begins with a snapshot of the task, or with a command's first event.
 */
export async function resubscribe(
  handler: RequestHandler,
  taskId: string,
  call: MethodCall,
): Promise<AsyncIterable<Frame>> {
  const isResumed = call.lastEventId !== undefined;
  const messages = isResumed ? () => 0 : undefined;
  const task = await findTask(handler, call, taskId, messages);
  // The view of the conversation holds for all events, also for those from
  // before the extension was activated.
  const isExtended = call.view === "inherited" && task.extensionActive;
  const encoder = encoderFor(
    handler,
    isExtended ? { ...call, view: "extension" } : call,
  );
  const after = call.lastEventId ?? firstEventOf(task);
  return subscriptionFrames(handler, call, { task, after }, encoder);
}

/**
 * Marks an answer or a frame as the repetition of an earlier exchange
 * (STREAM-7).
 */
function markReplay(json: JsonValue, replay: Replay): JsonValue {
  if (!isObject(json)) return json;
  return {
    ...json,
    metadata: withReplay(
      isObject(json.metadata) ? json.metadata : undefined,
      replay,
    ),
  };
}

/**
 * Returns our own request for a message.
 *
 * Throws when the client accepts none of the agent's output media types.
 */
async function sendRequestFor(
  { handler, about }: DialectServices,
  { request: decoded, pushConfig }: MessageSend,
  call: MethodCall,
): Promise<SendMessageRequest> {
  assertTakesOutput(
    decoded.message?.acceptedOutputModes ?? [],
    about.outputModes,
  );
  const request: SendMessageRequest = {
    ...(await withRecipient(handler, decoded, call.context)),
    activateExtension: call.activates,
  };
  if (pushConfig) request.pushConfig = withFormat(call, pushConfig);
  // A client that asks for the extension's view never answers by a text.
  if (call.view === "extension" || request.taskId === "" || !request.message) {
    return request;
  }
  const task = await findTask(handler, call, request.taskId, () => 0);
  const view = viewOf(call.view, task);
  return { ...request, message: withPlainAnswer(request.message, task, view) };
}

/**
 * Yields the frames of an exchange.
 *
 * Where a message is the whole answer, its task is hidden unless it ends
 * without one.
 */
async function* exchangeFrames(
  responses: AsyncIterable<StreamResponse>,
  call: MethodCall,
  end: (event: TaskEvent) => Promise<readonly Frame[]>,
): AsyncIterable<Frame> {
  let isHidden = false;
  let replay: Replay | undefined;
  for await (const response of responses) {
    const { event } = response;
    if (!event) continue;
    replay = response.replay ?? replay;
    const { payload, contextId } = event;
    if (payload.case === "created") isHidden = payload.value.replyOnly;
    if (isHidden && !endsExchange(event)) continue;
    if (isHidden && payload.case === "reply") {
      yield markFrame(
        { result: JSON.stringify(encodeReply(payload.value, contextId)) },
        replay,
      );
    } else if (endsExchange(event)) {
      for (const frame of await end(event)) yield markFrame(frame, replay);
    } else {
      const frame = eventFrame(event, call);
      if (!frame) continue;
      yield markFrame(frame, replay);
    }
    replay = undefined;
  }
}

function markFrame(frame: Frame, replay: Replay | undefined): Frame {
  if (!replay) return frame;
  const result = JSON.stringify(markReplay(JSON.parse(frame.result), replay));
  return { ...frame, result };
}
