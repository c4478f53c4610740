import { hash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import {
  emptyTask,
  GoalProgressSchema,
  GoalSchema,
  GoalState,
  MessageSchema,
  Role,
  type Task,
  TaskCreatedSchema,
  TaskState,
  type ToolCallDetail,
  ToolCallDetailSchema,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import type { AgentEvent, AgentExecutor } from "../agent/agent-executor.ts";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import type { TaskLease } from "../store/task-lease.ts";
import { Conversation } from "./conversation.ts";
import { EventLog } from "./event-log.ts";
import { OpenTask } from "./open-task.ts";

/** A store whose writes can be blocked. */
class SlowStore extends MemoryTaskStore {
  #disk: Promise<void> = Promise.resolve();

  /** Blocks writes until the returned function is called, then lets them fail. */
  holdUp(failure?: Error): () => void {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#disk = promise;
    return () => (failure ? reject(failure) : resolve());
  }

  override async append(
    ...written: Parameters<MemoryTaskStore["append"]>
  ): Promise<void> {
    await this.#disk;
    // Nobody else has a fence here.
    const [append] = written;
    return super.append({ ...append, fence: undefined });
  }
}

/** The lease of a task that no other server has taken. */
const LEASE: TaskLease = {
  fence: 1n,
  lost: new AbortController().signal,
  afterOutage: false,
  isCurrent: async () => true,
  release: async () => undefined,
};

const STEP = create(ToolCallDetailSchema, {
  delegation: { agent: "other", taskId: "t2" },
  stepRun: { attempt: 1 },
});
const QUESTION = create(ToolCallDetailSchema, {
  delegation: { agent: "other", taskId: "t2" },
  parentToolCallId: "c",
});

describe("an open task that records tool calls (R1)", () => {
  it("runs a call once its start is durable, and waits for nothing else", async () => {
    const seen: string[] = [];
    const store = new SlowStore();
    let goOn = (): void => undefined;
    const executor = agent(seen, () => {
      goOn = store.holdUp();
    });
    await openedTask(store, executor).create(create(TaskCreatedSchema));
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(seen).toEqual(["scheduled"]);
    goOn();
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(seen).toEqual(["scheduled", "ran"]);
  });

  it("starts the agent while the creation is written, and runs no call before it is durable", async () => {
    const seen: string[] = [];
    const store = new SlowStore();
    const goOn = store.holdUp();
    const created = openedTask(store, agent(seen)).create(
      create(TaskCreatedSchema),
    );
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(seen).toEqual(["scheduled"]);
    goOn();
    await created;
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(seen).toEqual(["scheduled", "ran"]);
  });

  it.each([
    [
      "until it is durable where other servers may take the task",
      STEP,
      LEASE,
      ["scheduled"],
    ],
    ["for nothing on the only server", STEP, undefined, ["scheduled", "ran"]],
    [
      "until it is durable where it answers a question of another task",
      QUESTION,
      undefined,
      ["scheduled"],
    ],
  ])(
    "with a call that names its task, waits %s",
    async (_where, detail, lease, expected) => {
      const seen: string[] = [];
      const store = new SlowStore();
      let goOn = (): void => undefined;
      const begin = (): void => {
        goOn = store.holdUp();
      };
      const named = agent(seen, begin, detail);
      await openedTask(store, named, lease).create(create(TaskCreatedSchema));
      for (let turn = 0; turn < 5; turn++) await nextTurn();
      expect(seen).toEqual(expected);
      goOn();
    },
  );
});

describe("an open task that a client reads", () => {
  it("is shown once all of it is durable", async () => {
    const store = new SlowStore();
    const openTask = openedTask(store, quietAgent());
    await openTask.create(create(TaskCreatedSchema));
    const goOn = store.holdUp();
    const titled = openTask.setTitle("Tests", "");
    let shown: Task | undefined;
    const read = openTask.whole().then((task) => {
      shown = task;
    });
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(openTask.task.title).toBe("Tests");
    expect(shown).toBeUndefined();
    goOn();
    await Promise.all([titled, read]);
    expect(shown?.title).toBe("Tests");
  });

  it("is not shown with what the store refuses", async () => {
    const store = new SlowStore();
    const openTask = openedTask(store, quietAgent());
    await openTask.create(create(TaskCreatedSchema));
    const goOn = store.holdUp(new Error("the disk is full"));
    const results = Promise.allSettled([
      openTask.setTitle("Tests", ""),
      openTask.whole(),
    ]);
    goOn();
    expect((await results).map(({ status }) => status)).toEqual([
      "rejected",
      "rejected",
    ]);
  });
});

describe("a task whose lease is lost before it opens", () => {
  it("starts no agent, and says where the task is", async () => {
    const seen: string[] = [];
    const lost = AbortSignal.abort(new Error("the lease of the task was lost"));
    const lease = {
      fence: 1n,
      lost,
      afterOutage: false,
      isCurrent: async () => false,
      release: async () => undefined,
    };
    const openTask = openedTask(new SlowStore(), agent(seen), lease);
    await expect(openTask.create(create(TaskCreatedSchema))).rejects.toThrow(
      "has moved to another server",
    );
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(seen).toEqual([]);
  });
});

describe("a task whose server stopped between its checks and the end of the turn", () => {
  it.each([
    [GoalState.ACHIEVED, TaskState.COMPLETED, "The goal is achieved"],
    [GoalState.UNMET, TaskState.INPUT_REQUIRED, "The goal is not achieved"],
    [GoalState.PAUSED, TaskState.INPUT_REQUIRED, "The goal is paused"],
  ])(
    "ends the turn as it would have, with a goal in state %s",
    async (goalState, state, text) => {
      const seen: string[] = [];
      const task = checkedTask(goalState);
      const openTask = openedTask(
        new SlowStore(),
        agent(seen),
        undefined,
        task,
      );
      await openTask.recover();
      expect(openTask.task.state).toBe(state);
      expect(openTask.task.stateText).toContain(text);
      expect(seen).toEqual([]);
    },
  );

  it("goes on with a goal that is not achieved, and counts no turn as cut", async () => {
    const seen: string[] = [];
    const task = checkedTask(GoalState.ACTIVE);
    const openTask = openedTask(new SlowStore(), agent(seen), undefined, task);
    const recovered = openTask.recover();
    const { history, goalProgress } = openTask.task;
    expect(history.at(-1)?.forGoal).toBe(true);
    expect(goalProgress?.cutTurns).toBe(0);
    await recovered;
  });
});

/** A task as its log has it when its checks have run, but its turn has not ended. */
function checkedTask(state: GoalState): Task {
  const user = create(MessageSchema, { messageId: "m", role: Role.USER });
  const id = hash("sha256", "t1:0").slice(0, 16);
  const check = { command: "true", toolCallId: `check-${id}-1` };
  return {
    ...emptyTask(),
    id: "t1",
    contextId: "c1",
    state: TaskState.WORKING,
    history: [user],
    goal: create(GoalSchema, { checks: ["true"] }),
    goalProgress: create(GoalProgressSchema, {
      state,
      turns: 1,
      checks: [check],
    }),
  };
}

function openedTask(
  store: SlowStore,
  executor: AgentExecutor,
  lease?: TaskLease,
  task: Task = { ...emptyTask(), id: "t1", contextId: "c1" },
): OpenTask {
  const log = new EventLog({
    store,
    task,
    conversation: new Conversation(),
    now: () => new Date(0),
    lease,
  });
  return new OpenTask({
    log,
    executor,
    lease,
    earlier: async () => ({ before: [], missing: [] }),
  });
}

/** An agent that reports nothing. */
function quietAgent(): AgentExecutor {
  return {
    modelFor: () => "",
    execute: async function* () {},
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** An agent that makes one call, runs it, and reports both. */
function agent(
  seen: string[],
  begin = (): void => undefined,
  detail?: ToolCallDetail,
): AgentExecutor {
  const update = (status: ToolCallStatus): AgentEvent => ({
    case: "toolCalls",
    value: [
      {
        call: create(ToolCallSchema, {
          toolCallId: "one",
          toolName: "act",
          status,
        }),
        ...(detail && { detail }),
      },
    ],
  });
  return {
    modelFor: () => "",
    execute: async function* () {
      begin();
      yield update(ToolCallStatus.PENDING);
      seen.push("scheduled");
      yield update(ToolCallStatus.EXECUTING);
      seen.push("ran");
      yield update(ToolCallStatus.SUCCEEDED);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
