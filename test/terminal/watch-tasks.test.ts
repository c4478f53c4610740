import { Code } from "@connectrpc/connect";
import { createDevtoolClient, type DevtoolClient } from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState, type WatchTasksResponse } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CLIENTS, clientOf } from "../client-of.ts";
import { beginTask } from "../tasks.ts";

describe("WatchTasks", () => {
  let base: string;
  let server: DevtoolServer;
  let client: DevtoolClient;

  beforeEach(async () => {
    base = temporaryDirectory();
    server = await serveCodingAgent({
      workspace: base,
      limits: { maxStreamsPerCaller: 3 },
    });
    client = clientOf(server);
  });
  afterEach(() => server.close());

  it.each(["Connect", "gRPC", "gRPC-Web"] as const)(
    "streams the tasks that there are, and then each that changes: %s",
    async (binding) => {
      const one = await beginTask(client, "text One.");
      const watch = new Watch(CLIENTS[binding](server));
      await watch.until(({ snapshotComplete }) => snapshotComplete);
      expect(watch.seen.map(({ task }) => task?.id)).toEqual([one, undefined]);
      expect(watch.seen[0]?.task?.lastEvent?.state).toBe(TaskState.COMPLETED);
      const two = await beginTask(client, "write a.txt a");
      const asked = await watch.until(
        ({ task }) => task?.lastEvent?.state === TaskState.INPUT_REQUIRED,
      );
      expect(asked).toMatchObject({
        task: { id: two, messageCount: 1 },
        snapshotComplete: true,
      });
      watch.close();
    },
  );

  it("sends at the start as many tasks as were asked for, the last changed first", async () => {
    const ids = [
      await beginTask(client, "text 1"),
      await beginTask(client, "text 2"),
      await beginTask(client, "text 3"),
    ];
    const watch = new Watch(client, 2);
    await watch.until(({ snapshotComplete }) => snapshotComplete);
    expect(watch.seen.flatMap(({ task }) => task?.id ?? [])).toEqual(
      ids.toReversed().slice(0, 2),
    );
    watch.close();
  });

  it.each([-1, 101])("refuses to start with %d tasks", async (snapshotSize) => {
    const responses = client.tasks.watchTasks({ snapshotSize });
    await expect(Array.fromAsync(responses)).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
  });

  it("leaves out most of what an agent streams, and never its end", async () => {
    const watch = new Watch(client);
    await watch.until(({ snapshotComplete }) => snapshotComplete);
    await beginTask(client, "say 2000");
    const { task } = await watch.until(
      ({ task }) => task?.lastEvent?.state === TaskState.COMPLETED,
    );
    expect(Number(task?.lastEvent?.sequence)).toBeGreaterThan(2000);
    expect(watch.seen.length).toBeLessThan(500);
    const sequences = watch.seen.flatMap(
      ({ task }) => task?.lastEvent?.sequence ?? [],
    );
    expect(sequences).toEqual(
      [...new Set(sequences)].sort((one, other) => Number(one - other)),
    );
    watch.close();
  });

  it("counts as one of the caller's streams", async () => {
    const watches = [new Watch(client), new Watch(client), new Watch(client)];
    for (const watch of watches) {
      await watch.until(({ snapshotComplete }) => snapshotComplete);
    }
    await expect(
      Array.fromAsync(client.tasks.watchTasks({})),
    ).rejects.toMatchObject({ code: Code.ResourceExhausted });
    for (const watch of watches) watch.close();
  });

  it("is not there over A2A", async () => {
    const { url, token } = server;
    const overA2a = createDevtoolClient(createA2aTransport({ url, token }));
    await expect(
      Array.fromAsync(overA2a.tasks.watchTasks({})),
    ).rejects.toMatchObject({ code: Code.Unimplemented });
  });
});

/** Reads a stream of tasks, and keeps what it has seen. */
class Watch {
  readonly seen: WatchTasksResponse[] = [];
  readonly #controller = new AbortController();
  readonly #responses: AsyncIterator<WatchTasksResponse>;

  constructor(client: DevtoolClient, snapshotSize = 0) {
    const signal = AbortSignal.any([
      this.#controller.signal,
      AbortSignal.timeout(120_000),
    ]);
    this.#responses = client.tasks
      .watchTasks({ snapshotSize }, { signal })
      [Symbol.asyncIterator]();
  }

  async until(
    isWanted: (response: WatchTasksResponse) => boolean,
  ): Promise<WatchTasksResponse> {
    for (;;) {
      const { done, value } = await this.#responses.next();
      if (done) throw new Error("the stream has ended");
      this.seen.push(value);
      if (isWanted(value)) return value;
    }
  }

  close(): void {
    this.#controller.abort();
  }
}
