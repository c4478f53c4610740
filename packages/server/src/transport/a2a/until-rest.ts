import { create } from "@bufbuild/protobuf";
import {
  awaitedToolCalls,
  endsExchange,
  isInterrupted,
  isTerminal,
  type Task,
  type TaskEvent,
  TaskEventSchema,
} from "@devtool/schema";
import type { Frame } from "../http/answer.ts";

/**
 * What an event is to a subscription, which lasts until its task waits or has ended, since `final` ends a stream in A2A 0.3
 * (STREAM-1): the `past` end of an exchange after which others came, so it is not final; the `end` of the subscription;
 * the last of a task at `rest`, whose `restEvent` follows under the same sequence, which is the id of the last frame alone
 * (STREAM-3); or `live`, one of many.
 */
export type Standing = "past" | "end" | "rest" | "live";

/** `head` is the task when the subscription was asked for: one request shows all that was until then, over the ends of exchanges. */
export function standingOf(event: TaskEvent, head: Task): Standing {
  if (endsExchange(event)) return event.sequence < head.sequence ? "past" : "end";
  // What came behind the end of the last exchange, for instance a summary, did not wake the task.
  return event.sequence === head.sequence && isAtRest(head) ? "rest" : "live";
}

/** A frame as its event stands in a subscription. */
export function frameIn(standing: Standing, { result, ...frame }: Frame): Frame {
  if (standing === "past") return { ...frame, result: JSON.stringify({ ...JSON.parse(result), final: false }) };
  return standing === "rest" ? { result } : { result, ...frame };
}

/** Whether a task waits for somebody or has ended. */
export function isAtRest({ state }: Pick<Task, "state">): boolean {
  return isTerminal(state) || isInterrupted(state);
}

/** The change to the state that a task rests in, as a last event that holds all that it says. */
export function restEvent(task: Task): TaskEvent {
  const { id: taskId, contextId, state, sequence, model, updateTime, stateText: text, error, extensionActive } = task;
  const openCalls = isInterrupted(state) ? awaitedToolCalls(task) : [];
  return create(TaskEventSchema, {
    ...{ taskId, contextId, state, sequence, model, extensionActive },
    ...(updateTime && { time: updateTime }),
    payload: { case: "stateChange", value: { text, error, openCalls } },
  });
}
