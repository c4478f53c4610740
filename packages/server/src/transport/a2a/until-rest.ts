import { create } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import {
  awaitedToolCalls,
  endsExchange,
  isAtRest,
  isInterrupted,
  type Task,
  type TaskEvent,
  TaskEventSchema,
} from "@devtool/schema";
import type { Frame } from "../http/answer.ts";

/**
 * The standing of an event in a subscription.
 *
 * A subscription lasts until its task waits or has ended, since `final` ends a
 * stream in A2A 0.3 (STREAM-1):
 *
 * - `past`: the end of an exchange that others followed, and therefore not
 *   final
 * - `end`: the end of the subscription
 * - `rest`: the last event of a task at rest. Its `restEvent` follows with the
 *   same sequence, which only the last frame has as its id (STREAM-3)
 * - `live`: any other event
 */
export type Standing = "past" | "end" | "rest" | "live";

/**
 * Returns the standing of an event.
 *
 * @param head - The task when the subscription began: a subscription replays
 *   everything up to there, ends of exchanges included.
 */
export function standingOf(
  event: TaskEvent,
  head: Pick<Task, "sequence" | "state">,
): Standing {
  if (endsExchange(event)) {
    return event.sequence < head.sequence ? "past" : "end";
  }
  // An event after the end of the last exchange, for instance a summary, does
  // not start the task again.
  return event.sequence === head.sequence && isAtRest(head.state)
    ? "rest"
    : "live";
}

/**
 * Returns the frame of an event with the `final` and the id that its standing
 * demands.
 */
export function frameAt(standing: Standing, frame: Frame): Frame {
  switch (standing) {
    case "past":
      return {
        ...frame,
        result: JSON.stringify({ ...JSON.parse(frame.result), final: false }),
      };
    case "rest":
      return { result: frame.result };
    default:
      return frame;
  }
}

/**
 * Returns the change to the state in which a task rests, as the last event of a
 * subscription.
 */
export function restEvent(task: Task): TaskEvent {
  const {
    id: taskId,
    contextId,
    state,
    sequence,
    model,
    updateTime: time,
    extensionActive,
    sender,
  } = task;
  const openCalls = isInterrupted(state) ? awaitedToolCalls(task) : [];
  return create(
    TaskEventSchema,
    defined({
      ...{ taskId, contextId, state, sequence, model, extensionActive, time },
      userTier: sender?.userTier,
      payload: {
        case: "stateChange" as const,
        value: { text: task.stateText, error: task.error, openCalls },
      },
    }),
  );
}
