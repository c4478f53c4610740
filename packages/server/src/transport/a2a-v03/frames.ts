import type { JsonValue } from "@bufbuild/protobuf";
import type { Task, TaskEvent } from "@devtool/schema";
import { encodeTask } from "@devtool/schema/a2a-v03";
import { defined } from "@devtool/schema/json";
import type { MethodCall } from "../a2a/method.ts";
import type { TaskEncoder } from "../a2a/subscription.ts";
import type { Frame } from "../http/answer.ts";
import { enterView } from "./call.ts";

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
 * Encodes a task in the view of a call.
 *
 * `historyLength` limits its history to the newest messages. Default: all.
 */
export function encodeTaskFor(
  call: MethodCall,
  task: Task,
  historyLength?: number,
): JsonValue {
  return encodeTask(
    task,
    defined({ view: enterView(call, task), historyLength }),
  );
}

/** Returns the encoder of a task and its events in the view of a call. */
export function encoderFor(call: MethodCall): TaskEncoder {
  return {
    task: (task) => encodeTaskFor(call, task),
    event: (event) => eventFrame(event, call),
  };
}
