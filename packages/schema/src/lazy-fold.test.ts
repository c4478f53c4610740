import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  type TaskEvent,
  TaskEventSchema,
} from "./gen/devtool/v1alpha/task_event_pb.ts";
import { TaskState } from "./gen/devtool/v1alpha/task_pb.ts";
import { LazyFold } from "./lazy-fold.ts";
import { emptyTask, reduceTask } from "./reduce-task.ts";

describe("a task that is folded when it is read", () => {
  it("is the task that a client folds event by event, whenever it is read", () => {
    const events = [
      event(1n, { case: "created", value: {} }),
      event(2n, { case: "text", value: { text: "one " } }, "model-1"),
      event(3n, { case: "text", value: { text: "two " } }),
      event(4n, { case: "text", value: { text: "three" } }),
      event(5n, { case: "message", value: { messageId: "message-1" } }),
      event(6n, { case: "text", value: { text: "four " } }),
      event(7n, { case: "text", value: { text: "five" } }),
    ];
    const expected = events.reduce(reduceTask, emptyTask());
    expect(expected.history.map(({ messageId }) => messageId)).toEqual([
      "task-1:2",
      "message-1",
      "task-1:6",
    ]);
    for (const readAt of [0n, 2n, 3n, 6n]) {
      const fold = new LazyFold(emptyTask());
      for (const event of events) {
        fold.add(event);
        if (event.sequence === readAt) expect(fold.task.sequence).toBe(readAt);
      }
      expect(fold.task).toEqual(expected);
    }
  });
});

function event(
  sequence: bigint,
  payload: NonNullable<MessageInitShape<typeof TaskEventSchema>["payload"]>,
  model = "",
): TaskEvent {
  return create(TaskEventSchema, {
    taskId: "task-1",
    sequence,
    state: TaskState.WORKING,
    model,
    payload,
  });
}
