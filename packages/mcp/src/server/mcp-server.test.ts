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

describe("subscriptions of a connection", () => {
  let tasks: FakeTasks;
  let client: Client;
  let heard: string[];
  let errors: unknown[];
  beforeEach(async () => {
    tasks = new FakeTasks();
    heard = [];
    errors = [];
    client = new Client({ name: "test-host", version: "1" });
    client.setNotificationHandler("notifications/resources/updated", (note) => {
      heard.push(note.params.uri);
    });
    const server = createMcpServer({
      version: "1",
      agents: [],
      callMs: 1000,
      nextId: () => "id",
      tasksOf: () => tasks,
      closingStopsWork: () => false,
      onError: (reason) => errors.push(reason),
    });
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    await server.connect(ours);
    await client.connect(theirs);
  });
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
  /** Holds up the end of a follower that is stopped. */
  readonly ended: PromiseWithResolvers<void> = Promise.withResolvers();
  fault: Error | undefined;

  get(id: string): Promise<Task> {
    return Promise.resolve(
      create(TaskSchema, { id, state: TaskState.WORKING }),
    );
  }

  async *follow(
    _taskId: string,
    _after: bigint,
    signal: AbortSignal,
  ): AsyncIterable<TaskEvent> {
    if (this.fault) throw this.fault;
    this.signals.push(signal);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.tell.push(resolve);
    signal.addEventListener("abort", () => resolve());
    await promise;
    if (signal.aborted) await this.ended.promise;
    signal.throwIfAborted();
    yield create(TaskEventSchema, { state: TaskState.INPUT_REQUIRED });
    await new Promise(() => undefined);
  }

  send(): Promise<never> {
    return Promise.reject(new Error("not here"));
  }

  cancel(): Promise<never> {
    return Promise.reject(new Error("not here"));
  }

  list(): Promise<never> {
    return Promise.reject(new Error("not here"));
  }
}
