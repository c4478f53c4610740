import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  createDevtoolClient,
  createSessionList,
  type DevtoolClient,
  type SessionList,
  type SessionListOptions,
  type SessionListSnapshot,
  textMessage,
} from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import { serveCodingAgent } from "@devtool/coding-agent";
import { startCuttingProxy } from "@devtool/conformance/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startServing } from "../durability/crash/server-process.ts";
import { SteadyAddress } from "../steady-address.ts";
import { soon } from "../tasks.ts";
import { until, whileFollowing } from "./following.ts";

describe("a list of sessions", () => {
  let base: string;
  let server: DevtoolServer;
  let client: DevtoolClient;

  beforeEach(async () => {
    base = temporaryDirectory();
    await mkdir(join(base, "work"));
    server = await serveCodingAgent({ workspace: join(base, "work") });
    client = connect(server);
  });
  afterEach(() => server.close());

  it("shows the tasks that there are, and those that begin and change, the last changed first", async () => {
    const one = await send("text One.");
    await following({}, async (list) => {
      await until(list, ({ isLoaded }) => isLoaded);
      expect(idsOf(list.snapshot())).toEqual([one]);
      const [before] = list.snapshot().sessions;
      const two = await send("write a.txt a");
      await until(
        list,
        ({ sessions }) =>
          sessions[0]?.lastEvent?.state === TaskState.INPUT_REQUIRED,
      );
      expect(idsOf(list.snapshot())).toEqual([two, one]);
      expect(list.snapshot().sessions[1]).toBe(before);
      await send("text One again.", one);
      await until(list, ({ sessions }) => sessions[0]?.id === one);
      await until(
        list,
        ({ sessions }) => sessions[0]?.lastEvent?.state === TaskState.COMPLETED,
      );
      expect(idsOf(list.snapshot())).toEqual([one, two]);
    });
  });

  it("loads older tasks in pages", async () => {
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) {
      ids.unshift(await send(`text ${count}`));
    }
    await following({ pageSize: 2 }, async (list) => {
      await until(list, ({ isLoaded }) => isLoaded);
      const shown: string[][] = [idsOf(list.snapshot())];
      while (list.snapshot().hasMore) {
        await list.loadMore(soon());
        shown.push(idsOf(list.snapshot()));
      }
      expect(shown).toEqual([ids.slice(0, 2), ids.slice(0, 4), ids]);
    });
  });

  it("is right again after its server was killed and started again", async () => {
    await using address = await SteadyAddress.open();
    const start = async () => {
      const started = await startServing([
        ...["--data", join(base, "data"), "--workspace", join(base, "work")],
        ...["--allow-host", address.host],
      ]);
      address.lead(started.info.url);
      return started;
    };
    let process = await start();
    await using stack = new AsyncDisposableStack();
    stack.defer(() => process.kill());
    client = connect({ url: address.url, token: process.info.token });
    const one = await send("text One.");
    await following({ baseDelayMs: 1 }, async (list) => {
      await until(list, ({ isLoaded }) => isLoaded);
      await process.kill();
      await until(list, ({ lost }) => lost !== undefined);
      process = await start();
      const two = await send("text Two.");
      await until(
        list,
        ({ sessions, lost }) => sessions[0]?.id === two && lost === undefined,
      );
      await until(
        list,
        ({ sessions }) => sessions[0]?.lastEvent?.state === TaskState.COMPLETED,
      );
      expect(idsOf(list.snapshot())).toEqual([two, one]);
    });
  });

  it("forgets what may be old, when more tasks changed meanwhile than it is told", async () => {
    const ids = [
      await send("text 1"),
      await send("text 2"),
      await send("text 3"),
    ];
    const list = createSessionList(client, { pageSize: 2 });
    await whileFollowing(list, async () => {
      await until(list, ({ isLoaded }) => isLoaded);
      await list.loadMore(soon());
      expect(idsOf(list.snapshot())).toEqual(ids.toReversed());
    });
    for (const id of ids) await send("text Again.", id);
    await whileFollowing(list, () =>
      until(list, ({ sessions }) => sessions.length === 2),
    );
    expect(idsOf(list.snapshot())).toEqual(ids.toReversed().slice(0, 2));
    expect(list.snapshot().hasMore).toBe(true);
    await list.loadMore(soon());
    expect(idsOf(list.snapshot())).toEqual(ids.toReversed());
  });

  it("drops tasks that are deleted, while it follows and while it does not", async () => {
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) {
      ids.push(await send(`text ${count}`));
    }
    const [zero = "", one = "", two = "", three = "", four = ""] = ids;
    const list = createSessionList(client, { pageSize: 3 });
    await whileFollowing(list, async () => {
      await until(list, ({ isLoaded }) => isLoaded);
      await list.loadMore(soon());
      await client.tasks.deleteTask({ taskId: three });
      await until(list, ({ sessions }) => sessions.length === 4);
      expect(idsOf(list.snapshot())).toEqual([four, two, one, zero]);
    });
    await client.tasks.deleteTask({ taskId: two });
    await whileFollowing(list, () =>
      until(list, ({ sessions }) => sessions.length === 3),
    );
    expect(idsOf(list.snapshot())).toEqual([four, one, zero]);
  });

  it.each([
    ["while it follows", true],
    ["while it does not", false],
  ])(
    "does not bring back with an older page a task that was deleted %s",
    async (_when, isFollowed) => {
      const ids: string[] = [];
      for (let count = 0; count < 3; count++) {
        ids.push(await send(`text ${count}`));
      }
      const [oldest = "", middle = "", newest = ""] = ids;
      const page = await client.tasks.listTasks({});
      const held = Promise.withResolvers<typeof page>();
      const slow: DevtoolClient = {
        ...client,
        tasks: { ...client.tasks, listTasks: () => held.promise },
      };
      const list = createSessionList(slow, { pageSize: 2 });
      const started = Promise.withResolvers<void>();
      let more: Promise<void> = Promise.resolve();
      const remove = () => client.tasks.deleteTask({ taskId: oldest });
      await whileFollowing(list, async () => {
        await until(list, ({ isLoaded }) => isLoaded);
        more = list.loadMore(soon());
        if (isFollowed) {
          await remove();
          // What changes after the deletion is told after it.
          await client.tasks.renameTask({ taskId: middle, title: "Renamed" });
          await until(list, ({ sessions }) => sessions[0]?.title === "Renamed");
          held.resolve(page);
          await more;
        }
        started.resolve();
      });
      await started.promise;
      if (!isFollowed) {
        await remove();
        await whileFollowing(list, async () => {
          await client.tasks.renameTask({ taskId: middle, title: "Renamed" });
          await until(list, ({ sessions }) => sessions[0]?.title === "Renamed");
          held.resolve(page);
          await more;
        });
      }
      expect(idsOf(list.snapshot())).toEqual([middle, newest]);
    },
  );

  it("shows the tasks that its filter selects, those that enter it, and not those that leave it", async () => {
    const one = await send("text keep");
    await send("text else");
    await following({ filter: { titleContains: "KEEP" } }, async (list) => {
      await until(list, ({ isLoaded }) => isLoaded);
      expect(idsOf(list.snapshot())).toEqual([one]);
      await list.rename(one, "gone", soon());
      await until(list, ({ sessions }) => sessions.length === 0);
      await list.rename(one, "keep again", soon());
      await until(list, ({ sessions }) => sessions[0]?.title === "keep again");
    });
  });

  it("forgets an older task that leaves its filter, while it follows and while it does not", async () => {
    const ids = [
      await send("text keep 1"),
      await send("text keep 2"),
      await send("text keep 3"),
    ];
    const [one = "", two = ""] = ids;
    const list = createSessionList(client, {
      pageSize: 1,
      filter: { titleContains: "keep" },
    });
    const loadAll = async (): Promise<void> => {
      while (list.snapshot().hasMore) await list.loadMore(soon());
    };
    await whileFollowing(list, async () => {
      await until(list, ({ isLoaded }) => isLoaded);
      await loadAll();
      expect(idsOf(list.snapshot())).toEqual(ids.toReversed());
      await list.rename(one, "gone", soon());
      await until(list, ({ sessions }) => sessions.length === 2);
    });
    await list.rename(two, "gone", soon());
    await whileFollowing(list, async () => {
      await until(list, ({ sessions }) => sessions.length === 1);
      await loadAll();
      expect(idsOf(list.snapshot())).toEqual(ids.slice(2));
    });
  });

  it("is the list of the server, whatever connections are cut", async () => {
    let cuts = 0;
    await using proxy = await startCuttingProxy(
      () => server.url,
      () => 300 + ((cuts++ * 613) % 8000),
    );
    const list = createSessionList(
      connect({ ...server, url: proxy.url }, server.url),
      { baseDelayMs: 1 },
    );
    await whileFollowing(list, async () => {
      for (let count = 0; count < 20; count++) await send(`say ${count}`);
      const { tasks } = await client.tasks.listTasks({});
      await until(
        list,
        ({ sessions }) =>
          sessions.every((task, at) => sameEvent(task, tasks[at])) &&
          sessions.length === 20,
      );
    });
    expect(proxy.cuts()).toBeGreaterThan(0);
  });

  it("says that A2A has no such list", async () => {
    const { url, token } = server;
    const list = createSessionList(
      createDevtoolClient(createA2aTransport({ url, token })),
    );
    await expect(list.follow(soon())).rejects.toMatchObject({
      code: Code.Unimplemented,
    });
    expect(list.snapshot()).toMatchObject({
      isLoaded: false,
      error: { code: Code.Unimplemented },
    });
  });

  async function send(text: string, taskId = ""): Promise<string> {
    const message = textMessage(crypto.randomUUID(), text);
    const { task } = await client.tasks.sendMessage({ message, taskId });
    return task?.id ?? "";
  }

  async function following(
    options: SessionListOptions,
    work: (list: SessionList) => Promise<void>,
  ): Promise<void> {
    const list = createSessionList(client, options);
    await whileFollowing(list, () => work(list));
  }

  /** A proxy has another host than the server, which admits its own. */
  function connect(
    { url, token }: Pick<DevtoolServer, "url" | "token">,
    host = url,
  ): DevtoolClient {
    const interceptors = [bearerInterceptor(token)];
    const nodeOptions = {
      agent: false,
      headers: { host: new URL(host).host },
    } as const;
    return createDevtoolClient(
      createConnectTransport({
        baseUrl: url,
        httpVersion: "1.1",
        interceptors,
        nodeOptions,
      }),
    );
  }
});

type Listed = SessionListSnapshot["sessions"][number];

function sameEvent(one: Listed, other: Listed | undefined): boolean {
  return (
    one.id === other?.id &&
    one.lastEvent?.sequence === other.lastEvent?.sequence
  );
}

function idsOf({ sessions }: SessionListSnapshot): string[] {
  return sessions.map(({ id }) => id);
}
