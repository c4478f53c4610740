import { create, type JsonValue } from "@bufbuild/protobuf";
import { SubscribeTaskRequestSchema, type Task, type TaskEvent } from "@devtool/schema";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { Frame } from "../http/answer.ts";
import { eventOf, type MethodCall } from "./method.ts";
import { frameIn, isAtRest, restEvent, standingOf } from "./until-rest.ts";

/** How a dialect shows a task and its events to one client. */
export interface Shown {
  task(task: Task): JsonValue;
  /** The frame of an event; undefined when the client is shown nothing of it. */
  event(event: TaskEvent): Frame | undefined;
}

/** Where a subscription begins. */
export interface SubscriptionStart {
  readonly task: Task;
  /** The last event that the client has; undefined to begin with the task as it is. */
  readonly after: bigint | undefined;
}

/**
 * The frames of a task until it rests. One generator for the whole of a subscription: each step of a chain would cost
 * every idle stream most of a kilobyte.
 */
export async function* subscriptionFrames(
  { tasks }: RequestHandler,
  { context }: MethodCall,
  { task, after }: SubscriptionStart,
  shown: Shown,
): AsyncIterable<Frame> {
  if (after === undefined && isAtRest(task)) {
    yield snapshotFrame(task, shown);
    return yield* restFrames(task, shown);
  }
  const from = create(SubscribeTaskRequestSchema, { taskId: task.id, afterSequence: after ?? task.sequence });
  const events = tasks.subscribeTask(from, context);
  if (after === undefined) yield snapshotFrame(task, shown);
  for await (const { event: init } of events) {
    if (!init) continue;
    const event = eventOf(init);
    const standing = standingOf(event, task);
    const frame = shown.event(event);
    if (frame) yield frameIn(standing, frame);
    if (standing === "rest") yield* restFrames(task, shown);
    if (standing === "rest" || standing === "end") return;
  }
}

/** The task as it is. Made where it is yielded: a variable of the generator would hold it as long as the stream lasts. */
function snapshotFrame(task: Task, shown: Shown): Frame {
  const result = JSON.stringify(shown.task(task));
  return isAtRest(task) ? { result } : { result, id: task.sequence };
}

function restFrames(task: Task, shown: Shown): Frame[] {
  const frame = shown.event(restEvent(task));
  return frame ? [frame] : [];
}
