import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  ApprovalMode,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SessionSettingsSchema,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import { Code } from "../errors.ts";
import { WorkspaceRoots } from "../files/workspace-roots.ts";
import { OpenTasks } from "../fleet/open-tasks.ts";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import type { TaskPage, TaskQuery, TaskStore } from "../store/task-store.ts";
import { RecordedMessages } from "../task/recorded-messages.ts";
import { Exchanges } from "./exchange.ts";

describe("a message that arrives twice at the same time (STREAM-7)", () => {
  it("starts one exchange, whichever copy is read first", async () => {
    const store = new MemoryTaskStore();
    await using registry = new OpenTasks({
      store,
      createExecutor: silent,
      now,
    });
    const exchanges = exchangesOf(registry, store);
    const request = requestOf("m1");
    const begun = await Promise.all(
      [1, 2, 3].map(() => exchanges.begin(request, P)),
    );
    expect(new Set(begun.map(({ held }) => held.handle.task.id)).size).toBe(1);
    expect(begun.map(({ replay }) => replay?.messageId)).toEqual([
      undefined,
      "m1",
      "m1",
    ]);
    expect(
      (await store.list({ principal: "p", limit: 10 })).tasks,
    ).toHaveLength(1);
  });

  it("is a retry whether it is sent to a task or, after the task has ended, to a new one that refers to it", async () => {
    const store = new MemoryTaskStore();
    await using registry = new OpenTasks({
      store,
      createExecutor: silent,
      now,
    });
    const exchanges = exchangesOf(registry, store);
    const { contextId, id: taskId } = (
      await exchanges.begin(requestOf("m1"), P)
    ).held.handle.task;
    const to = (messageId: string) => requestOf(messageId, { taskId });
    const following = (messageId: string) =>
      requestOf(messageId, { contextId, referenceTaskIds: [taskId] });
    await exchanges.begin(to("m2"), P);
    expect((await exchanges.begin(following("m2"), P)).replay?.messageId).toBe(
      "m2",
    );
    const { held } = await exchanges.begin(following("m3"), P);
    expect(held.handle.task.id).not.toBe(taskId);
    expect((await exchanges.begin(to("m3"), P)).held.handle.task.id).toBe(
      held.handle.task.id,
    );
    const other = [
      requestOf("m2", { contextId }),
      requestOf("m3", { contextId }),
      requestOf("m1", { taskId: "id9" }),
    ];
    for (const request of other) {
      await expect(exchanges.begin(request, P)).rejects.toMatchObject({
        code: Code.AlreadyExists,
      });
    }
  });
});

const P = { principal: "p" };

describe("a retry that names other settings (STREAM-7)", () => {
  const { DEFAULT, PLAN } = ApprovalMode;
  it.each([
    ["another approval mode", {}, { approvalMode: PLAN }],
    [
      "a mode in place of another",
      { approvalMode: DEFAULT },
      { approvalMode: PLAN },
    ],
    ["allowed tools", {}, { allowedTools: ["read_file"] }],
    ["other tools", { allowedTools: ["a"] }, { allowedTools: ["b"] }],
    ["a model", {}, { model: "m" }],
    ["other options", {}, { agentOptions: { effort: "low" } }],
  ] as const)(
    "N1: is refused for %s, and one with the same is a retry",
    async (_name, first, second) => {
      const store = new MemoryTaskStore();
      await using registry = new OpenTasks({
        store,
        createExecutor: silent,
        now,
      });
      const exchanges = exchangesOf(registry, store);
      const of = (messageId: string, settings: object, taskId = "") =>
        requestOf(messageId, { sessionSettings: settings, taskId });
      const { held } = await exchanges.begin(of("m1", first), P);
      const { id } = held.handle.task;
      await exchanges.begin(of("m2", first, id), P);
      for (const [messageId, taskId] of [
        ["m1", ""],
        ["m2", id],
      ] as const) {
        const same = await exchanges.begin(of(messageId, first, taskId), P);
        expect(same.replay?.messageId).toBe(messageId);
        await expect(
          exchanges.begin(of(messageId, second, taskId), P),
        ).rejects.toThrow(/differ from those|was used for another message/);
      }
    },
  );
});

describe("a message in a conversation of many tasks", () => {
  it("reads only the latest of them from the store", async () => {
    const store = new CountingStore();
    await using registry = new OpenTasks({
      store,
      createExecutor: silent,
      now,
    });
    const exchanges = exchangesOf(registry, store);
    for (let index = 0; index < 50; index++) {
      await exchanges.begin(requestOf(`m${index}`, { contextId: "c" }), P);
    }
    store.calls.length = 0;
    await exchanges.begin(requestOf("m50", { contextId: "c" }), P);
    expect(store.calls.filter((name) => name === "list")).toEqual([]);
    expect(store.calls.filter((name) => name === "findLatest")).toHaveLength(1);
    expect(
      store.calls.filter((name) => name === "readEvents").length,
    ).toBeLessThanOrEqual(1);
  });
});

/** Records which of its methods were called. */
class CountingStore extends MemoryTaskStore {
  readonly calls: string[] = [];

  override list(query: TaskQuery): Promise<TaskPage> {
    this.calls.push("list");
    return super.list(query);
  }

  override findLatest(
    principal: string,
    contextId: string,
  ): Promise<TaskEvent | undefined> {
    this.calls.push("findLatest");
    return super.findLatest(principal, contextId);
  }

  override readEvents(taskId: string, after: bigint): AsyncIterable<TaskEvent> {
    this.calls.push("readEvents");
    return super.readEvents(taskId, after);
  }
}

function now(): Date {
  return new Date();
}

function exchangesOf(registry: OpenTasks, store: TaskStore): Exchanges {
  let count = 0;
  return new Exchanges({
    ...{
      registry,
      store,
      messages: new RecordedMessages({ store, now, retryWindowMs: 60_000 }),
      maxParts: 10,
      clientMcpServers: "none",
      agents: {
        resolve: String,
        assertFollowed: () => undefined,
        assertCapable: async () => undefined,
        checkerOf: () => undefined,
        operatorModeOf: () => ApprovalMode.UNSPECIFIED,
      },
      dataDirectory: undefined,
    },
    ...{
      workspace: import.meta.dirname,
      workspaceRoots: new WorkspaceRoots([import.meta.dirname]),
    },
    nextId: () => `id${++count}`,
  });
}

interface Addressed {
  readonly taskId?: string;
  readonly contextId?: string;
  readonly referenceTaskIds?: string[];
  readonly sessionSettings?: MessageInitShape<typeof SessionSettingsSchema>;
}

function requestOf(
  messageId: string,
  { referenceTaskIds = [], ...address }: Addressed = {},
): SendMessageRequest {
  const parts = [{ content: { case: "text" as const, value: "hello" } }];
  return create(SendMessageRequestSchema, {
    ...address,
    message: { messageId, referenceTaskIds, parts },
  });
}

function silent(): AgentExecutor {
  return {
    modelFor: () => "",
    async *execute() {
      yield { case: "end", value: { state: TaskState.COMPLETED, text: "" } };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
