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
 * Returns the frames of a task until the task rests: it has ended, or waits for
 * somebody.
 */
export function subscriptionFrames(
  handler: RequestHandler,
  call: MethodCall,
  { task, after }: SubscriptionStart,
  encoder: TaskEncoder,
): AsyncIterable<Frame> {
  const { id: taskId, sequence, state } = task;
  const first = after === undefined ? [snapshotFrame(task, encoder)] : [];
  const rest = isAtRest(state) ? restEvent(task) : undefined;
  const from = { taskId, sequence, state, after, first, rest };
  return framesFrom(handler, call, from, encoder);
}

/** A subscription without the history of its task. */
interface Beginning extends Pick<Task, "sequence" | "state"> {
  readonly taskId: string;
  readonly after: bigint | undefined;
  /** The frame with which it begins. It is removed when it is sent. */
  readonly first: Frame[];
  /** The state of a task that rests. */
  readonly rest: TaskEvent | undefined;
}

/**
 * Yields the frames of a subscription.
 *
 * A single generator on purpose: each generator in a chain would cost an idle
 * stream most of a kilobyte. A local variable would keep the first frame, which
 * may be large, as long as the stream lasts.
 */
async function* framesFrom(
  { tasks }: RequestHandler,
  { context }: MethodCall,
  from: Beginning,
  encoder: TaskEncoder,
): AsyncIterable<Frame> {
  const { taskId, after, rest } = from;
  if (after === undefined && rest) {
    yield* from.first.splice(0);
    return yield* restFrames(rest, encoder);
  }
  const afterSequence = after ?? from.sequence;
  const events = tasks.subscribeTask({ taskId, afterSequence }, context);
  yield* from.first.splice(0);
  for await (const { event } of events) {
    if (!event) continue;
    const standing = standingOf(event, from);
    if (encoder.end && (standing === "past" || standing === "end")) {
      for (const frame of await encoder.end(event)) {
        yield frameAt(standing, frame);
      }
    } else {
      const frame = encoder.event(event);
      if (frame) yield frameAt(standing, frame);
    }
    if (standing === "rest" && rest) yield* restFrames(rest, encoder);
    if (standing === "rest" || standing === "end") return;
  }
}

/** Returns the frame of a whole task. */
function snapshotFrame(task: Task, encoder: TaskEncoder): Frame {
  const result = JSON.stringify(encoder.task(task));
  return isAtRest(task.state) ? { result } : { result, id: task.sequence };
}

function restFrames(rest: TaskEvent, encoder: TaskEncoder): Frame[] {
  const frame = encoder.event(rest);
  return frame ? [frame] : [];
}
