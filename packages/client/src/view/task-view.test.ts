import { create } from "@bufbuild/protobuf";
import { createRouterTransport } from "@connectrpc/connect";
import { type Message, type TaskEvent, TaskEventSchema, TaskService, TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { createDevtoolClient } from "../devtool-client.ts";
import { createTaskView } from "./task-view.ts";

describe("a view of a task that ends while it sends a message to it", () => {
  it("goes on with the task that the message has started, as in A2A 1.0", async () => {
    const ended = Promise.withResolvers<void>();
    let second: Message | undefined;
    const transport = createRouterTransport(({ service }) => {
      service(TaskService, {
        async *streamMessage({ request }) {
          yield { event: created("task-1", request?.message) };
          await ended.promise;
          yield { event: completed("task-1") };
        },
        sendMessage({ message }) {
          second = message;
          ended.resolve();
          return { task: { id: "task-2", sequence: 1n, state: TaskState.WORKING } };
        },
        async *subscribeTask({ taskId }) {
          if (taskId !== "task-2") return;
          yield { event: created("task-2", second) };
          yield { event: completed("task-2") };
        },
      });
    });
    const view = createTaskView(createDevtoolClient(transport));
    const working = Promise.withResolvers<void>();
    view.subscribe(() => view.snapshot().task.id === "task-1" && working.resolve());
    const signal = AbortSignal.timeout(60_000);
    const first = view.send("one", signal);
    await working.promise;
    await view.send("two", signal);
    await first;
    const { task, items } = view.snapshot();
    expect(task).toMatchObject({ id: "task-2", state: TaskState.COMPLETED });
    expect(items.map(({ part }) => part.content.value)).toEqual(["one", "two"]);
  });
});

function created(taskId: string, message: Message | undefined): TaskEvent {
  const payload = { case: "created", value: message ? { message } : {} } as const;
  return create(TaskEventSchema, { taskId, sequence: 1n, state: TaskState.WORKING, payload });
}

function completed(taskId: string): TaskEvent {
  const payload = { case: "stateChange", value: {} } as const;
  return create(TaskEventSchema, { taskId, sequence: 2n, state: TaskState.COMPLETED, payload });
}
