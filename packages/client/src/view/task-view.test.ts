import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { createRouterTransport } from "@connectrpc/connect";
import {
  emptyTask,
  type Message,
  reduceTask,
  type TaskEvent,
  TaskEventSchema,
  TaskService,
  TaskState,
  type ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import type { AskedToolCall } from "../confirmation.ts";
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
          return {
            task: { id: "task-2", sequence: 1n, state: TaskState.WORKING },
          };
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
    view.subscribe(
      () => view.snapshot().task.id === "task-1" && working.resolve(),
    );
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

describe("the questions of a view", () => {
  it("are the same objects as long as they ask the same", async () => {
    const steps = [
      [
        asked("task-1", 2n, "call-1", 1),
        asked("task-1", 3n, "call-2", 2),
        waiting("task-1", 4n, ["call-1", "call-2"]),
      ],
      [noticed("task-1", 5n)],
      [asked("task-1", 6n, "call-1", 3)],
    ];
    const shown = steps.map(() => Promise.withResolvers<void>());
    const transport = createRouterTransport(({ service }) => {
      service(TaskService, {
        async *subscribeTask() {
          yield { event: created("task-1", undefined) };
          for (const [index, events] of steps.entries()) {
            for (const event of events) yield { event };
            await shown[index]?.promise;
          }
        },
      });
    });
    const view = createTaskView(createDevtoolClient(transport), {
      taskId: "task-1",
    });
    const seen: (readonly AskedToolCall[])[] = [];
    const done = new AbortController();
    const lasts = [4n, 5n, 6n];
    view.subscribe(() => {
      const { task, questions } = view.snapshot();
      if (task.sequence !== lasts[seen.length]) return;
      seen.push(questions);
      shown[seen.length - 1]?.resolve();
      if (seen.length === steps.length) done.abort();
    });
    await view.follow(
      AbortSignal.any([done.signal, AbortSignal.timeout(60_000)]),
    );
    const [first = [], second = [], third = []] = seen;
    expect(first.map(({ toolCallId }) => toolCallId)).toEqual([
      "call-1",
      "call-2",
    ]);
    expect([second[0] === first[0], second[1] === first[1]]).toEqual([
      true,
      true,
    ]);
    expect([third[0] === first[0], third[1] === first[1]]).toEqual([
      false,
      true,
    ]);
    expect(third[0]?.shownDigest).toEqual(Uint8Array.of(3));
  });
});

describe("a view that starts with the task as it is", () => {
  it("reads the last event of the log, with its notice, and those that follow", async () => {
    const log = [
      created("task-1", undefined),
      said("task-1", 2n),
      said("task-1", 3n),
      noticed("task-1", 4n),
    ];
    const noticeShown = Promise.withResolvers<void>();
    const asked: bigint[] = [];
    const transport = createRouterTransport(({ service }) => {
      service(TaskService, {
        getTask: () => ({ task: log.reduce(reduceTask, emptyTask()) }),
        async *subscribeTask({ afterSequence }) {
          asked.push(afterSequence);
          for (const event of log.slice(Number(afterSequence))) yield { event };
          await noticeShown.promise;
          yield { event: said("task-1", 5n) };
          yield { event: completed("task-1", 6n) };
        },
      });
    });
    const view = createTaskView(createDevtoolClient(transport), {
      taskId: "task-1",
      startWith: "task",
    });
    const done = new AbortController();
    view.subscribe(() => {
      const { task, notice } = view.snapshot();
      if (notice) noticeShown.resolve();
      if (task.state === TaskState.COMPLETED) done.abort();
    });
    await view.follow(
      AbortSignal.any([done.signal, AbortSignal.timeout(60_000)]),
    );
    const { items, notice } = view.snapshot();
    expect(items.map(({ part }) => part.content.value)).toEqual([
      "word word word ",
    ]);
    expect(notice).toBeUndefined();
    expect(asked).toEqual([3n]);
  });

  it("knows when the exchange has ended of a message that was sent before the task was there", async () => {
    const log = [
      created("task-1", undefined),
      said("task-1", 2n),
      completed("task-1", 3n),
      renamed("task-1", 4n),
    ];
    const transport = createRouterTransport(({ service }) => {
      service(TaskService, {
        getTask: () => ({ task: log.reduce(reduceTask, emptyTask()) }),
        async *subscribeTask({ afterSequence }) {
          for (const event of log.slice(Number(afterSequence))) yield { event };
        },
        async *streamMessage() {
          for (const event of log.slice(1)) yield { event };
        },
      });
    });
    const view = createTaskView(createDevtoolClient(transport), {
      taskId: "task-1",
      startWith: "task",
    });
    await view.send("one", AbortSignal.timeout(60_000));
    expect(view.snapshot().task.sequence).toBeGreaterThanOrEqual(3n);
  });
});

describe("a view of a task of which much has arrived at once", () => {
  it("lets timers and frames run while it reads", async () => {
    let hasRun = false;
    setTimeout(() => {
      hasRun = true;
    }, 0);
    let last = 1n;
    const transport = createRouterTransport(({ service }) => {
      service(TaskService, {
        async *subscribeTask() {
          yield { event: created("task-1", undefined) };
          while (!hasRun && last < 20_000n) {
            yield { event: said("task-1", ++last) };
          }
          yield { event: completed("task-1", ++last) };
        },
      });
    });
    const view = createTaskView(createDevtoolClient(transport), {
      taskId: "task-1",
    });
    const done = new AbortController();
    view.subscribe(
      () => view.snapshot().task.state === TaskState.COMPLETED && done.abort(),
    );
    await view.follow(
      AbortSignal.any([done.signal, AbortSignal.timeout(60_000)]),
    );
    expect(hasRun).toBe(true);
    expect(last).toBeLessThan(20_000n);
  });
});

function created(taskId: string, message: Message | undefined): TaskEvent {
  const payload = {
    case: "created",
    value: message ? { message } : {},
  } as const;
  return create(TaskEventSchema, {
    taskId,
    sequence: 1n,
    state: TaskState.WORKING,
    payload,
  });
}

/** The policy has decided that a call asks. */
function asked(
  taskId: string,
  sequence: bigint,
  toolCallId: string,
  digest: number,
): TaskEvent {
  const payload = { case: "toolCall", value: question(toolCallId) } as const;
  const toolCallDetail = { digest: Uint8Array.of(digest) };
  return create(TaskEventSchema, {
    taskId,
    sequence,
    state: TaskState.WORKING,
    payload,
    toolCallDetail,
  });
}

function waiting(
  taskId: string,
  sequence: bigint,
  toolCallIds: readonly string[],
): TaskEvent {
  const payload = {
    case: "stateChange",
    value: { openCalls: toolCallIds.map(question) },
  } as const;
  return create(TaskEventSchema, {
    taskId,
    sequence,
    state: TaskState.INPUT_REQUIRED,
    payload,
  });
}

function noticed(taskId: string, sequence: bigint): TaskEvent {
  const payload = { case: "notice", value: {} } as const;
  return create(TaskEventSchema, {
    taskId,
    sequence,
    state: TaskState.INPUT_REQUIRED,
    payload,
  });
}

function question(toolCallId: string): MessageInitShape<typeof ToolCallSchema> {
  return {
    toolCallId,
    status: ToolCallStatus.PENDING,
    confirmationRequest: { options: [{ id: "proceed_once" }] },
  };
}

function said(taskId: string, sequence: bigint): TaskEvent {
  const payload = { case: "text", value: { text: "word " } } as const;
  return create(TaskEventSchema, {
    taskId,
    sequence,
    state: TaskState.WORKING,
    payload,
  });
}

function renamed(taskId: string, sequence: bigint): TaskEvent {
  const payload = { case: "renamed", value: { title: "Words" } } as const;
  return create(TaskEventSchema, {
    taskId,
    sequence,
    state: TaskState.COMPLETED,
    payload,
  });
}

function completed(taskId: string, sequence = 2n): TaskEvent {
  const payload = { case: "stateChange", value: {} } as const;
  return create(TaskEventSchema, {
    taskId,
    sequence,
    state: TaskState.COMPLETED,
    payload,
  });
}
