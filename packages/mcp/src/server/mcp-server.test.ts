import { create } from "@bufbuild/protobuf";
import {
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskSchema,
  TaskState,
} from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createMcpServer } from "./mcp-server.ts";
import type { PortTasks } from "./port.ts";

let tasks: FakeTasks;
let client: Client;
let heard: string[];
let errors: unknown[];

/** Connects a host to a server whose calls wait for a time. */
async function connect(callMs: number): Promise<void> {
  tasks = new FakeTasks();
  heard = [];
  errors = [];
  client = new Client({ name: "test-host", version: "1" });
  client.setNotificationHandler("notifications/resources/updated", (note) => {
    heard.push(note.params.uri);
  });
  const server = createMcpServer({
    version: "1",
    agents: [{ name: "a", displayName: "A", description: "", skills: [] }],
    callMs,
    nextId: () => "id",
    tasksOf: () => tasks,
    closingStopsWork: () => false,
    onError: (reason) => errors.push(reason),
  });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(ours);
  await client.connect(theirs);
}

describe("a call of an agent", () => {
  const call = { name: "agent_a", arguments: { prompt: "Work." } };
  afterEach(() => client.close());

  it("returns while the agent works on, and names the task to wait for", async () => {
    await connect(20);
    tasks.ended.resolve();
    expect(await client.callTool(call)).toMatchObject({
      content: [{ text: expect.stringContaining("call task_wait") }],
      structuredContent: { taskId: "t1", state: "working" },
    });
    expect(tasks.canceled).toEqual([]);
  });

  it("goes on when its host's time limit is reached, and stops when its user withdraws it", async () => {
    await connect(60_000);
    tasks.ended.resolve();
    await expect(client.callTool(call, { timeout: 20 })).rejects.toThrow();
    const withdrawn = new AbortController();
    const calling = client.callTool(call, { signal: withdrawn.signal });
    const [failed] = await Promise.allSettled([
      calling,
      expect
        .poll(() => tasks.signals.length)
        .toBe(2)
        .then(() => withdrawn.abort("escape")),
    ]);
    expect(failed.status).toBe("rejected");
    // The first one had come to its end before.
    await expect.poll(() => tasks.canceled).toEqual(["t1"]);
    expect(tasks.signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });
});

describe("subscriptions of a connection", () => {
  beforeEach(() => connect(1000));
  afterEach(() => client.close());

  it("last when a host subscribes again before the first has ended", async () => {
    const uri = "devtool://tasks/a";
    await client.subscribeResource({ uri });
    await client.unsubscribeResource({ uri });
    await client.subscribeResource({ uri });
    tasks.ended.resolve();
    await tasks.ended.promise;
    await expect.poll(() => tasks.tell.length).toBe(2);
    tasks.tell[1]?.();
    await expect.poll(() => heard).toEqual([uri]);
    await client.unsubscribeResource({ uri });
    expect(tasks.signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it("are at most 100, also when all are asked for at once", async () => {
    const uris = Array.from(
      { length: 102 },
      (_, at) => `devtool://tasks/${at}`,
    );
    const results = await Promise.allSettled(
      uris.map((uri) => client.subscribeResource({ uri })),
    );
    const refused = results.flatMap((result) =>
      result.status === "rejected" ? [String(result.reason)] : [],
    );
    expect(refused).toEqual([
      expect.stringContaining('"devtool://tasks/100"'),
      expect.stringContaining('"devtool://tasks/101"'),
    ]);
    await client.unsubscribeResource({ uri: "devtool://tasks/7" });
    await client.subscribeResource({ uri: "devtool://tasks/100" });
  });

  it.each([Code.Unavailable, Code.ResourceExhausted])(
    "go on when a task could not be followed for a while, and tell of it (%s)",
    async (code) => {
      const uri = "devtool://tasks/a";
      tasks.fault = new DevtoolError("not now", code);
      await client.subscribeResource({ uri });
      await expect.poll(() => tasks.faults).toBeGreaterThan(1);
      // Nothing has changed by the second try.
      expect(heard).toEqual([]);
      tasks.sequence++;
      tasks.fault = undefined;
      await expect.poll(() => heard, { timeout: 10_000 }).toEqual([uri]);
      await expect.poll(() => tasks.tell.length).toBe(1);
      // After one second, and then after two.
      const [, second = 0, third = 0] = tasks.followedAtMs;
      expect(third - second).toBeGreaterThan(1900);
      tasks.tell[0]?.();
      await expect.poll(() => heard).toEqual([uri, uri]);
      expect(errors).toEqual([]);
      tasks.ended.resolve();
    },
  );

  it("tell of a change that came before they were followed", async () => {
    const uri = "devtool://tasks/a";
    const { get } = tasks;
    tasks.get = async (id) => {
      const task = await get.call(tasks, id);
      tasks.sequence++;
      tasks.get = get;
      return task;
    };
    await client.subscribeResource({ uri });
    await expect.poll(() => heard).toEqual([uri]);
    tasks.ended.resolve();
  });

  it("report no task that has gone, and each fault of the server", async () => {
    tasks.fault = new DevtoolError("task is gone", Code.NotFound);
    await client.subscribeResource({ uri: "devtool://tasks/a" });
    tasks.fault = new Error("no disk");
    await client.subscribeResource({ uri: "devtool://tasks/b" });
    await expect.poll(() => errors).toEqual([tasks.fault]);
  });
});

/** Tasks that work on until their followers hear of a change. */
class FakeTasks implements PortTasks {
  readonly tell: (() => void)[] = [];
  readonly signals: AbortSignal[] = [];
  readonly canceled: string[] = [];
  /** Holds up the end of a follower that is stopped. */
  readonly ended: PromiseWithResolvers<void> = Promise.withResolvers();
  /** The number of changes of each task. */
  sequence = 0n;
  fault: Error | undefined;
  /** How often the fault was met. */
  faults = 0;
  readonly followedAtMs: number[] = [];

  get(id: string): Promise<Task> {
    const { sequence } = this;
    return Promise.resolve(
      create(TaskSchema, { id, sequence, state: TaskState.WORKING }),
    );
  }

  async *follow(
    _taskId: string,
    _after: bigint,
    signal: AbortSignal,
  ): AsyncIterable<TaskEvent> {
    this.followedAtMs.push(performance.now());
    if (this.fault) {
      this.faults++;
      throw this.fault;
    }
    this.signals.push(signal);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.tell.push(resolve);
    signal.addEventListener("abort", () => resolve());
    await promise;
    if (signal.aborted) await this.ended.promise;
    signal.throwIfAborted();
    this.sequence++;
    yield create(TaskEventSchema, { state: TaskState.INPUT_REQUIRED });
    await new Promise(() => undefined);
  }

  send(): Promise<Task> {
    return this.get("t1");
  }

  cancel(taskId: string): Promise<void> {
    this.canceled.push(taskId);
    return Promise.resolve();
  }

  list(): Promise<never> {
    return Promise.reject(new Error("not here"));
  }
}
