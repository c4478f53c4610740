import type { JsonValue } from "@bufbuild/protobuf";
import type { Task, TaskEvent } from "@devtool/schema";
import { encodeTask } from "@devtool/schema/a2a-v03";
import type { MethodCall } from "../a2a/method.ts";
import type { Shown } from "../a2a/subscription.ts";
import type { Frame } from "../http/answer.ts";
import { shownView } from "./call.ts";

/** The frame of an event in the view of a call; undefined when that shows nothing of it. */
export function eventFrame(event: TaskEvent, call: MethodCall): Frame | undefined {
  const result = call.textOf(event, shownView(call, event));
  return result === undefined ? undefined : { result, id: event.sequence };
}

/** A task in the view of a call. */
export function taskJson(task: Task, call: MethodCall, historyLength: number | undefined): JsonValue {
  const view = shownView(call, task);
  return encodeTask(task, { view, ...(historyLength !== undefined && { historyLength }) });
}

/** How the client of a call is shown a task and its events. */
export function shownTo(call: MethodCall): Shown {
  return { task: (task) => taskJson(task, call, undefined), event: (event) => eventFrame(event, call) };
}
