import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import {
  isTerminal,
  type Message,
  MessageSchema,
  Role,
  TaskCreatedSchema,
  TaskState,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import { DevtoolError } from "../errors.ts";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { readTask } from "../task/read-task.ts";
import type { HeldTask } from "../task/task-handle.ts";
import { OpenTasks } from "./open-tasks.ts";

const { signal } = new AbortController();
const MORE_THAN_STAY_OPEN = Array.from(
  { length: 300 },
  (_, index) => `t${index}`,
);

describe("the open tasks of a server", () => {
  it("keep a held task open, regardless of how many others are opened, and close it when it is released", async () => {
    await using registry = await registryOf(MORE_THAN_STAY_OPEN);
    const found = await registry.get("t0");
    await useAll(registry, MORE_THAN_STAY_OPEN.slice(1));
    const again = await registry.get("t0");
    expect(again?.handle).toBe(found?.handle);
    found?.[Symbol.dispose]();
    again?.[Symbol.dispose]();
    again?.[Symbol.dispose]();
    await useAll(registry, MORE_THAN_STAY_OPEN.slice(1));
    using anew = await registry.get("t0");
    expect(anew?.handle).not.toBe(found?.handle);
  });

  it("take a message each, even when more of them are found at once than stay open", async () => {
    await using registry = await registryOf(MORE_THAN_STAY_OPEN);
    const found = await Promise.all(
      MORE_THAN_STAY_OPEN.map((taskId) => registry.get(taskId)),
    );
    await useAll(registry, MORE_THAN_STAY_OPEN);
    for (const held of found) {
      await held?.handle.accept({
        message: userMessage("second"),
        activateExtension: false,
      });
      held?.[Symbol.dispose]();
    }
    for (const taskId of MORE_THAN_STAY_OPEN) {
      using held = await registry.get(taskId);
      expect(
        held?.handle.task.history.map(({ messageId }) => messageId),
      ).toEqual(["first", "second"]);
    }
  });

  it("can be read when the server closes, but refuse messages, and no other task is opened", async () => {
    await using registry = await registryOf(MORE_THAN_STAY_OPEN);
    await registry.stop();
    using held = await registry.get("t299");
    expect(held?.handle.task.state).toBe(TaskState.COMPLETED);
    const unavailable = { code: Code.Unavailable };
    const late = held?.handle.accept({
      message: userMessage("late"),
      activateExtension: false,
    });
    await expect(late).rejects.toMatchObject(unavailable);
    await expect(registry.get("t0")).rejects.toMatchObject(unavailable);
    await expect(begin(registry, "new")).rejects.toMatchObject(unavailable);
  });
});

describe("a conversation", () => {
  it("does not go on with a task that is deleted while that is not open", async () => {
    const store = new MemoryTaskStore();
    await using first = registryIn(store, silent);
    await begin(first, "t1");
    const heard: number[] = [];
    const listening: AgentExecutor = {
      ...silent(),
      async *execute({ earlier }) {
        heard.push(earlier.length);
        yield { case: "end", value: { state: TaskState.COMPLETED, text: "" } };
      },
    };
    await using registry = registryIn(store, () => listening);
    const contextId = "context-of-t1";
    const message = { ...userMessage("second"), referenceTaskIds: ["t1"] };
    using held = await registry.create(
      "t2",
      { contextId, extensionActive: false, agentSessionId: "" },
      create(TaskCreatedSchema, { principal: "p", message }),
    );
    await ended(held, 0n);
    const t1 = (await readTask(store, "t1")) ?? expect.fail("it is stored");
    // As retention does.
    await registry.delete(t1, { principal: "", rule: "retention.max_tasks" });
    const sequence = await held.handle.accept({
      message: userMessage("third"),
      activateExtension: false,
    });
    await ended(held, sequence);
    expect(heard).toEqual([1, 0]);
  });
});

describe("a task that the store does not take", () => {
  it("is refused at once, also when its agent goes on, and its agent is closed when it has ended", async () => {
    const store = new FullStore();
    const words = Promise.withResolvers<undefined>();
    const closed = Promise.withResolvers<undefined>();
    await using registry = new OpenTasks({
      store,
      createExecutor: () => deaf(words, closed),
      now: () => new Date(),
    });
    await expect(begin(registry, "t1")).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    });
    words.resolve(undefined);
    await closed.promise;
  });
});

describe("a task whose log can no longer be written", () => {
  it("has its agent closed at once, though no request comes and the task had ended", async () => {
    const store = new BrokenStore();
    const closed = Promise.withResolvers<undefined>();
    await using registry = registryIn(store, () => closing(closed));
    await begin(registry, "t1");
    store.isBroken = true;
    using held = await registry.get("t1");
    await expect(held?.handle.addNotice("hi")).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    });
    await closed.promise;
  });

  it("is opened again, and the server waits for the end of its first agent when it closes", async () => {
    const store = new BrokenStore();
    const closed = Promise.withResolvers<undefined>();
    const isClosed: boolean[] = [];
    let opened = 0;
    const goOn = Promise.withResolvers<undefined>();
    const slow: AgentExecutor = {
      ...silent(),
      async [Symbol.asyncDispose]() {
        await goOn.promise;
        isClosed.push(true);
      },
    };
    const registry = registryIn(store, () =>
      opened++ === 0 ? slow : closing(closed),
    );
    await begin(registry, "t1");
    store.isBroken = true;
    const failed = await registry.get("t1");
    await expect(failed?.handle.addNotice("hi")).rejects.toThrow();
    failed?.[Symbol.dispose]();
    store.isBroken = false;
    const again = await registry.get("t1");
    await again?.handle.addNotice("hi");
    again?.[Symbol.dispose]();
    const disposed = registry[Symbol.asyncDispose]();
    await closed.promise;
    expect(isClosed).toEqual([]);
    goOn.resolve(undefined);
    await disposed;
    expect(isClosed).toEqual([true]);
  });
});

/** A store whose disk can become full. */
class BrokenStore extends MemoryTaskStore {
  isBroken = false;

  override append(
    ...written: Parameters<MemoryTaskStore["append"]>
  ): Promise<void> {
    if (!this.isBroken) return super.append(...written);
    return Promise.reject(
      new DevtoolError("the disk is full", Code.ResourceExhausted),
    );
  }
}

/** An agent that ends its turn at once, and tells when it is closed. */
function closing(closed: PromiseWithResolvers<undefined>): AgentExecutor {
  return {
    ...silent(),
    [Symbol.asyncDispose]: async () => closed.resolve(undefined),
  };
}

function registryIn(
  store: MemoryTaskStore,
  createExecutor: () => AgentExecutor,
): OpenTasks {
  return new OpenTasks({ store, createExecutor, now: () => new Date() });
}

/** A store that takes nothing. */
class FullStore extends MemoryTaskStore {
  override append(): Promise<void> {
    return Promise.reject(
      new DevtoolError("the disk is full", Code.ResourceExhausted),
    );
  }
}

/**
 * An agent that does not listen to its signal, and ends when it has its words.
 */
function deaf(
  words: PromiseWithResolvers<undefined>,
  closed: PromiseWithResolvers<undefined>,
): AgentExecutor {
  return {
    modelFor: () => "",
    async *execute() {
      await words.promise;
      yield { case: "text", value: "Late." };
    },
    async [Symbol.asyncDispose]() {
      closed.resolve(undefined);
    },
  };
}

async function registryOf(taskIds: readonly string[]): Promise<OpenTasks> {
  const store = new MemoryTaskStore();
  const registry = new OpenTasks({
    store,
    createExecutor: silent,
    now: () => new Date(),
  });
  for (const taskId of taskIds) await begin(registry, taskId);
  return registry;
}

/** Creates a task and waits until it has ended. */
async function begin(registry: OpenTasks, taskId: string): Promise<void> {
  const created = create(TaskCreatedSchema, {
    principal: "p",
    message: userMessage("first"),
  });
  using held = await registry.create(
    taskId,
    {
      contextId: `context-of-${taskId}`,
      extensionActive: false,
      agentSessionId: "",
    },
    created,
  );
  await ended(held, 0n);
}

/** Waits until a task has ended after a sequence. */
async function ended({ handle }: HeldTask, after: bigint): Promise<void> {
  for await (const events of handle.read(after, signal)) {
    if (events.some(({ state }) => isTerminal(state))) return;
  }
}

async function useAll(
  registry: OpenTasks,
  taskIds: readonly string[],
): Promise<void> {
  for (const taskId of taskIds) {
    using _used = await registry.get(taskId);
  }
}

function userMessage(messageId: string): Message {
  return create(MessageSchema, {
    messageId,
    role: Role.USER,
    parts: [{ content: { case: "text", value: "hi" } }],
  });
}

/** An agent that ends its turn at once. */
function silent(): AgentExecutor {
  return {
    modelFor: () => "",
    async *execute() {
      yield { case: "end", value: { state: TaskState.COMPLETED, text: "" } };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
