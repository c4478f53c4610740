import type { JsonValue } from "@bufbuild/protobuf";
import {
  isAtRest,
  isInterrupted,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { Frame } from "../http/answer.ts";
import type { MethodCall } from "./method.ts";
import { frameAt, restEvent, standingOf } from "./until-rest.ts";

/** Encodes a task and its events for one client. */
export interface TaskEncoder {
  task(task: Task): JsonValue;
  /**
   * Returns the frame of an event; undefined for an event that the client does
   * not see.
   */
  event(event: TaskEvent): Frame | undefined;
  /**
   * Returns the frames of an event that ends an exchange. Default: that of
   * `event`.
   */
  end?(event: TaskEvent): Promise<readonly Frame[]>;
}

/**
 * The task of a subscription, and the position at which the subscription
 * begins.
 */
export interface SubscriptionStart {
  readonly task: Task;
  /**
   * The sequence of the last event that the client has.
   *
   * Undefined to begin with a snapshot of the task.
   */
  readonly after: bigint | undefined;
}

/**
 * Returns where a subscription to a task begins whose client has seen none of
 * its events: with all of them for a slash command, of which the answer to
 * `command/execute` shows nothing (CMD-1). Undefined for a snapshot, which has
 * the question of a command that waits.
 */
export function firstEventOf({ command, state }: Task): bigint | undefined {
  return command && !isInterrupted(state) ? 0n : undefined;
}

/**
 * Yields the frames of a task until the task rests: it has ended, or waits for
 * somebody.
 *
 * A single generator on purpose: each generator in a chain would cost an idle
 * stream most of a kilobyte.
 */
export async function* subscriptionFrames(
  { tasks }: RequestHandler,
  { context }: MethodCall,
  { task, after }: SubscriptionStart,
  encoder: TaskEncoder,
): AsyncIterable<Frame> {
  if (after === undefined && isAtRest(task.state)) {
    yield snapshotFrame(task, encoder);
    return yield* restFrames(task, encoder);
  }
  const from = { taskId: task.id, afterSequence: after ?? task.sequence };
  const events = tasks.subscribeTask(from, context);
  if (after === undefined) yield snapshotFrame(task, encoder);
  for await (const { event } of events) {
    if (!event) continue;
    const standing = standingOf(event, task);
    if (encoder.end && (standing === "past" || standing === "end")) {
      for (const frame of await encoder.end(event)) {
        yield frameAt(standing, frame);
      }
    } else {
      const frame = encoder.event(event);
      if (frame) yield frameAt(standing, frame);
    }
    if (standing === "rest") yield* restFrames(task, encoder);
    if (standing === "rest" || standing === "end") return;
  }
}

/**
 * Returns the frame of a whole task.
 *
 * Call it within `yield`: a local variable would keep the frame as long as the
 * stream lasts.
 */
function snapshotFrame(task: Task, encoder: TaskEncoder): Frame {
  const result = JSON.stringify(encoder.task(task));
  return isAtRest(task.state) ? { result } : { result, id: task.sequence };
}

function restFrames(task: Task, encoder: TaskEncoder): Frame[] {
  const frame = encoder.event(restEvent(task));
  return frame ? [frame] : [];
}
