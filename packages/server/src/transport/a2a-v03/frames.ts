import type { JsonObject } from "@bufbuild/protobuf";
import type { Task, TaskEvent } from "@devtool/schema";
import { encodeTask } from "@devtool/schema/a2a-v03";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { enterView } from "../a2a/activation.ts";
import type { MethodCall } from "../a2a/method.ts";
import type { TaskEncoder } from "../a2a/subscription.ts";
import { answeredEnd } from "../a2a/turn-answer.ts";
import type { Frame } from "../http/answer.ts";

/**
 * Returns the frame of an event in the view of a call; undefined for an event
 * that the view does not show.
 */
export function eventFrame(
  event: TaskEvent,
  call: MethodCall,
): Frame | undefined {
  const result = call.encodeEvent(event, enterView(call, event));
  return result === undefined ? undefined : { result, id: event.sequence };
}

/**
 * Returns the frames of an event that ends an exchange: in the plain view, the
 * answer comes before it (STREAM-10).
 *
 * Only the end has the id, so that a client that resumes between the two gets
 * both again.
 *
 * @param messageId - The message whose exchange ends. Default: the last one.
 */
export async function endFrames(
  handler: RequestHandler,
  call: MethodCall,
  event: TaskEvent,
  messageId?: string,
): Promise<Frame[]> {
  const answered =
    enterView(call, event) === "plain"
      ? await answeredEnd(handler, call.context, event, messageId)
      : undefined;
  const end = eventFrame(answered?.end ?? event, call);
  const answer = answered && eventFrame(answered.answer, call);
  return [
    ...(answer ? [{ result: answer.result }] : []),
    ...(end ? [end] : []),
  ];
}

/**
 * Encodes a task in the view of a call. `options` have all but the view.
 */
export function encodeTaskFor(
  call: MethodCall,
  task: Task,
  options: Omit<Parameters<typeof encodeTask>[1] & {}, "view"> = {},
): JsonObject {
  return encodeTask(task, { ...options, view: enterView(call, task) });
}

/** Returns the encoder of a task and its events in the view of a call. */
export function encoderFor(
  handler: RequestHandler,
  call: MethodCall,
): TaskEncoder {
  return {
    task: (task) => encodeTaskFor(call, task),
    event: (event) => eventFrame(event, call),
    end: (event) => endFrames(handler, call, event),
  };
}
