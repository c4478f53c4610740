import { type DevtoolClient, textMessage } from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { PostgresStore } from "@devtool/postgres";
import { TaskState } from "@devtool/schema";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { LEASE_MS } from "../fleet/replicas.ts";
import { describeWithPostgres } from "../fleet/with-postgres.ts";

/** An agent that asks, or says that it needs something. */
const agent: Agent = {
  about: { name: "Own", description: "Asks." },
  open: () => ({
    createExecutor: () => ({
      async *execute(turn, signal) {
        const content = turn.prompt?.parts[0]?.content;
        if (content?.value === "ask") {
          const call = { toolName: "publish", args: {}, ask: "Publish?" };
          yield* turn.call({ ...call, run: () => "ran" }, signal);
        } else if (content?.value === "need") {
          const state = TaskState.INPUT_REQUIRED;
          yield { case: "end", value: { state, text: "What?" } };
        } else {
          yield { case: "text", value: "done" };
        }
      },
    }),
  }),
};

describe("a server on a file", () => {
  const dataDirectory = temporaryDirectory();
  testLoad(() => createServer({ ...OPTIONS, dataDirectory }));
});

describeWithPostgres("a server on PostgreSQL", (database) => {
  testLoad(() =>
    createServer({
      ...OPTIONS,
      openStore: () =>
        PostgresStore.open({ url: database.url, leaseMs: LEASE_MS }),
    }),
  );
});

const OPTIONS = { agents: { own: agent }, workspace: temporaryDirectory() };

function testLoad(start: () => Promise<DevtoolServer>): void {
  it("knows from its start what waits in the store, and how large that is", async () => {
    const asked = Date.now();
    {
      await using server = await start();
      const client = clientOf(server);
      await send(client, "ask");
      const taskId = await send(client, "ask");
      // The question is not the last event of its task any more.
      await client.tasks.renameTask({ taskId, title: "Release" });
      await send(client, "need");
      await send(client, "say");
    }
    await using server = await start();
    const { openTasks, store } = await server.load();
    expect(openTasks).toBe(0);
    expect(store?.questions.count).toBe(2);
    const oldestMs = store?.questions.oldestMs ?? 0;
    expect(oldestMs).toBeGreaterThan(0);
    expect(oldestMs).toBeLessThanOrEqual(Date.now() - asked);
    expect(store?.unfinished).toEqual(
      new Map([
        [TaskState.SUBMITTED, 0],
        [TaskState.WORKING, 0],
        [TaskState.INPUT_REQUIRED, 3],
        [TaskState.AUTH_REQUIRED, 0],
      ]),
    );
    const { bytes = 0 } = store ?? {};
    expect(bytes).toBeGreaterThan(1000);
    await send(clientOf(server), `say ${"x".repeat(1_000_000)}`);
    const after = await server.load();
    expect(after.store?.bytes).toBeGreaterThan(bytes);
  });
}

async function send(client: DevtoolClient, text: string): Promise<string> {
  const message = textMessage(crypto.randomUUID(), text);
  const { task } = await client.tasks.sendMessage({ message });
  return task?.id ?? "";
}
