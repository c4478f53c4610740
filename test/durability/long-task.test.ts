import { once } from "node:events";
import { copyFile } from "node:fs/promises";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type Message, type TaskEvent, TaskState } from "@devtool/schema";
import {
  type AgentEvent,
  createServer,
  type DevtoolServer,
  type Turn,
} from "@devtool/server";
import { SqliteTaskStore } from "@devtool/server/store";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

/** What the agent says in each of its first turns, in characters. */
const SAID = 10_000_000;
const PIECE = "x".repeat(100_000);
/** What may be read of a log when its task is opened, in characters. */
const MOST = 6_000_000;

describe("a task of 20 MB that a server opens again", () => {
  const read = { characters: 0 };
  const given: (readonly Message[])[] = [];
  let path: string;
  let taskId: string;
  let server: DevtoolServer;
  beforeEach(async () => {
    path = `${temporaryDirectory()}/tasks.db`;
    server = await serve();
    taskId = "";
    taskId = (await send("one")).id ?? "";
    await send("two");
    await send("last");
    await restart();
  });
  afterEach(() => server.close());

  it("costs no more than what it was told last, also for an agent that stored no summary", async () => {
    const task = await call("GetTask", { id: taskId, historyLength: 0 });
    expect(task.status?.state).toBe("TASK_STATE_INPUT_REQUIRED");
    expect(read.characters).toBeLessThan(MOST);
  });

  it("gives such an agent the whole history with the next message", async () => {
    await send("last");
    const said = given
      .at(-1)
      ?.flatMap(({ parts }) => parts)
      .map(({ content }) => (content.case === "text" ? content.value : ""));
    expect(said?.map(({ length }) => length)).toEqual([
      3,
      SAID,
      3,
      SAID,
      4,
      5,
      4,
    ]);
    const { history } = await call("GetTask", { id: taskId });
    expect(history).toHaveLength(8);
    expect(JSON.stringify(history).length).toBeGreaterThan(2 * SAID);
  });

  it("is read from its begin where its head is gone, and has one again after that", async () => {
    await server.close();
    const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
    const database = new DatabaseSync(path);
    expect(database.prepare("DELETE FROM task_head").run().changes).toBe(1);
    database.close();
    for (const least of [2 * SAID, 0]) {
      await restart();
      await call("GetTask", { id: taskId, historyLength: 0 });
      expect(read.characters).toBeGreaterThanOrEqual(least);
    }
    expect(read.characters).toBeLessThan(MOST);
  });

  it("goes on from its last event after a kill in the middle of a turn", async () => {
    const { history: before = [] } = await call("GetTask", { id: taskId });
    const hanging = send("hang").catch(() => undefined);
    const lastSaid = async () => {
      const { history } = await call("GetTask", {
        ...{ id: taskId, historyLength: 1 },
      });
      return JSON.stringify(history?.at(-1)).length;
    };
    await expect
      .poll(lastSaid, { interval: 500, timeout: 60_000 })
      .toBeGreaterThan(SAID);
    const killed = `${temporaryDirectory()}/tasks.db`;
    for (const end of ["", "-wal"]) await copyFile(path + end, killed + end);
    await server.close();
    await hanging;
    path = killed;
    server = await serve();
    const { status, history } = await call("GetTask", { id: taskId });
    expect(status?.state).toBe("TASK_STATE_INPUT_REQUIRED");
    expect(history?.slice(0, -2)).toEqual(before);
    expect(await lastSaid()).toBeGreaterThan(SAID);
  });

  async function restart(): Promise<void> {
    await server.close();
    server = await serve();
    read.characters = 0;
  }

  function serve(): Promise<DevtoolServer> {
    return createServer({
      agents: { talker: talker(given) },
      workspace: temporaryDirectory(),
      openStore: async () => counting(await SqliteTaskStore.open(path), read),
    });
  }

  async function send(text: string): Promise<Result> {
    const messageId = crypto.randomUUID();
    const parts = [{ text }];
    const { task } = await call("SendMessage", {
      message: { messageId, taskId, role: "ROLE_USER", parts },
    });
    return task ?? expect.fail("no task");
  }

  async function call(method: string, params: object): Promise<Result> {
    const headers = {
      "a2a-version": "1.0",
      authorization: `Bearer ${server.token}`,
      "content-type": "application/json",
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await fetch(server.url, { method: "POST", headers, body });
    const { result, error }: Answer = JSON.parse(await response.text());
    return result ?? expect.fail(JSON.stringify(error));
  }
});

interface Answer {
  readonly result?: Result;
  readonly error?: object;
}

interface Result {
  readonly task?: Result;
  readonly id?: string;
  readonly status?: { readonly state: string };
  readonly history?: readonly object[];
}

/** An agent that looks at the whole history, and stores no summary. */
function talker(given: (readonly Message[])[]) {
  return {
    about: { name: "Talker", description: "Talks at length until the end." },
    open: () => ({
      createExecutor: () => ({
        async *execute(
          { task, prompt }: Turn,
          signal: AbortSignal,
        ): AsyncIterable<AgentEvent> {
          given.push(task.history);
          const content = prompt?.parts[0]?.content;
          const told = content?.case === "text" ? content.value : "";
          const isLast = told === "last";
          for (let said = 0; !isLast && said < SAID; said += PIECE.length) {
            yield { case: "text", value: PIECE };
          }
          if (isLast) yield { case: "text", value: "small" };
          if (told === "hang") await once(signal, "abort");
          const state = TaskState.INPUT_REQUIRED;
          yield { case: "end", value: { state, text: "And now?" } };
        },
      }),
    }),
  };
}

/** A store that counts what is read of its logs. */
function counting(
  store: SqliteTaskStore,
  read: { characters: number },
): SqliteTaskStore {
  const { readEvents } = store;
  store.readEvents = async function* (...of): AsyncIterable<TaskEvent> {
    for await (const event of readEvents.apply(store, of)) {
      const { payload } = event;
      if (payload.case === "text") read.characters += payload.value.text.length;
      yield event;
    }
  };
  return store;
}
