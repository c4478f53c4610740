import { create, type JsonValue, type MessageInitShape } from "@bufbuild/protobuf";
import {
  endsExchange,
  type Replay,
  ReplaySchema,
  replyOf,
  type SendMessageRequest,
  StreamMessageRequestSchema,
  TaskSchema,
  type TaskService,
} from "@devtool/schema";
import { encodeReply, type MessageSend, withReplay } from "@devtool/schema/a2a-v03";
import { isObject } from "@devtool/schema/json";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { assertTakesOutput, eventOf, findTask, type MethodCall } from "../a2a/method.ts";
import { withPlainAnswer } from "../a2a/plain-answer.ts";
import { subscriptionFrames } from "../a2a/subscription.ts";
import type { Frame } from "../http/answer.ts";
import { settledCall } from "./call.ts";
import { eventFrame, shownTo, taskJson } from "./frames.ts";
import type { A2aV03ServiceOptions } from "./options.ts";
import { inFormatOf } from "./push-configs.ts";

type StreamResponse = MessageInitShape<typeof TaskService.method.streamMessage.output>;

/** Sends a message and gives the task as the exchange left it, or the message that is the whole answer. */
export async function sendMessage(
  { handler, outputModes }: A2aV03ServiceOptions,
  asked: MessageSend,
  call: MethodCall,
): Promise<JsonValue> {
  const request = await requestOf(handler, { asked, outputModes }, call);
  const answer = await handler.tasks.sendMessage(request, call.context);
  const task = create(TaskSchema, answer.task);
  const reply = replyOf(task);
  // The answer has the history of its exchange; whoever counts messages counts those of the whole task.
  const isCounted = !reply && asked.historyLength !== undefined;
  const shown = isCounted ? { ...task, history: (await findTask(handler, call, task.id)).history } : task;
  const json = reply ? encodeReply(reply, task.contextId) : taskJson(shown, call, asked.historyLength);
  return answer.replay ? replayed(json, create(ReplaySchema, answer.replay)) : json;
}

/** Sends a message and gives the frames of its exchange. */
export async function streamMessage(
  { handler, outputModes }: A2aV03ServiceOptions,
  asked: MessageSend,
  call: MethodCall,
): Promise<AsyncIterable<Frame>> {
  const request = await requestOf(handler, { asked, outputModes }, call);
  return exchangeFrames(
    handler.tasks.streamMessage(create(StreamMessageRequestSchema, { request }), call.context),
    call,
  );
}

/** With `Last-Event-ID`: what came after it. Without: the task as it is, then what comes. Both until the task rests. */
export async function resubscribe(
  handler: RequestHandler,
  taskId: string,
  call: MethodCall,
): Promise<AsyncIterable<Frame>> {
  const task = await findTask(handler, call, taskId);
  const shown = shownTo(settledCall(call, task));
  return subscriptionFrames(handler, call, { task, after: call.lastEventId }, shown);
}

/** An answer, or a frame, that says that it repeats an earlier exchange (STREAM-7). */
function replayed(json: JsonValue, replay: Replay): JsonValue {
  if (!isObject(json)) return json;
  return { ...json, metadata: withReplay(isObject(json.metadata) ? json.metadata : undefined, replay) };
}

/** The message of a call, with where to post its events in the form of the call. */
async function requestOf(
  handler: RequestHandler,
  { asked, outputModes }: { readonly asked: MessageSend; readonly outputModes: readonly string[] | undefined },
  call: MethodCall,
): Promise<SendMessageRequest> {
  const { request: decoded, pushConfig } = asked;
  assertTakesOutput(decoded.message?.acceptedOutputModes ?? [], outputModes);
  const request = {
    ...decoded,
    activateExtension: call.activates,
    ...(pushConfig && { pushConfig: inFormatOf(call, pushConfig) }),
  };
  if (call.view === "extension" || request.taskId === "" || !request.message) return request;
  const task = await findTask(handler, call, request.taskId);
  return { ...request, message: withPlainAnswer(request.message, task) };
}

/** The frames of an exchange. Where the answer is a message alone only that is shown, or how the task came to none. */
async function* exchangeFrames(responses: AsyncIterable<StreamResponse>, call: MethodCall): AsyncIterable<Frame> {
  let isHidden = false;
  let replay: Replay | undefined;
  for await (const response of responses) {
    if (!response.event) continue;
    if (response.replay) replay = create(ReplaySchema, response.replay);
    const event = eventOf(response.event);
    const { payload, contextId } = event;
    if (payload.case === "created") isHidden = payload.value.replyOnly;
    if (isHidden && !endsExchange(event)) continue;
    const isReply = isHidden && payload.case === "reply";
    const frame = isReply ? { result: JSON.stringify(encodeReply(payload.value, contextId)) } : eventFrame(event, call);
    if (!frame) continue;
    yield replay ? { ...frame, result: JSON.stringify(replayed(JSON.parse(frame.result), replay)) } : frame;
    replay = undefined;
  }
}
