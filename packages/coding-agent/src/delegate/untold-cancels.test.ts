import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { createDevtoolClient } from "@devtool/client";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  emptyTask,
  MessageSchema,
  Role,
  type Task,
  TaskService,
  ToolCallStatus,
  type UntoldCancel,
  UntoldCancelSchema,
} from "@devtool/schema";
import { DevtoolError } from "@devtool/server/agent";
import { beforeEach, describe, expect, it } from "vitest";
import type { CalledAgent } from "./called-agent.ts";
import { UntoldCancels } from "./untold-cancels.ts";

const HOUR_MS = 3_600_000;
const CALL = { toolCallId: "call", taskId: "child" };

describe("the cancellations that agents could not be told", () => {
  let dataDirectory: string;
  let nowMs: number;
  let waits: number[];
  let notices: string[];
  /** The tasks that the agent was told to cancel. */
  let told: string[];
  /** How often the agent is not there yet. */
  let absences: number;
  /** What happens while the agent is connected to. */
  let meanwhile: () => Promise<void>;
  /** The log of the calling task. */
  let log: Task | undefined;

  beforeEach(() => {
    dataDirectory = temporaryDirectory();
    nowMs = Date.parse("2026-01-01");
    waits = [];
    notices = [];
    told = [];
    absences = 0;
    meanwhile = async () => undefined;
    log = calling("parent", ToolCallStatus.CANCELLED);
  });

  it("tells the agent once it is back, after waits of 1 to 60 seconds", async () => {
    absences = 8;
    using untold = open();
    expect(await keep(untold)).toBe(true);
    expect(files()).toHaveLength(1);
    const [file = ""] = files();
    expect(statSync(join(dataDirectory, file)).mode & 0o777).toBe(0o600);
    expect(Object.keys(JSON.parse(fileText(dataDirectory, file)))).toEqual([
      ...["parentTaskId", "toolCallId", "principal"],
      ...["agent", "definitionHash", "taskId", "createTime"],
    ]);
    await expect.poll(files).toEqual([]);
    expect(told).toEqual(["child"]);
    const seconds = [1, 2, 4, 8, 16, 32, 60, 60, 60];
    expect(waits).toEqual(seconds.map((each) => each * 1000));
    await expect
      .poll(() => notices)
      .toEqual([
        'the cancellation of what task "parent" gave agent "far" is told now',
      ]);
  });

  it("gives up after an hour, and says so", async () => {
    absences = Number.POSITIVE_INFINITY;
    const beganMs = nowMs;
    using untold = open();
    await keep(untold);
    await expect.poll(files).toEqual([]);
    expect(nowMs - beganMs).toBeGreaterThanOrEqual(HOUR_MS);
    expect(nowMs - beganMs).toBeLessThan(HOUR_MS + 61_000);
    expect(told).toEqual([]);
    await expect
      .poll(() => notices)
      .toEqual([
        'the cancellation of what task "parent" gave agent "far" could not be told within an hour: nobody is there; its work may go on',
      ]);
  });

  it("go on after a restart, with what is left of the hour", async () => {
    await keepAndStop();
    nowMs += HOUR_MS;
    using untold = open();
    await untold.resume(async () => [agent()]);
    await expect.poll(files).toEqual([]);
    expect([told, waits]).toEqual([["child"], [1000]]);
  });

  it("are not told to another agent that has the name now", async () => {
    await keepAndStop();
    using untold = open();
    await untold.resume(async () => [{ ...agent(), definitionHash: "other" }]);
    await expect.poll(files).toEqual([]);
    expect(told).toEqual([]);
    await expect
      .poll(() => notices)
      .toEqual([
        expect.stringMatching(/this server has no such agent any more/),
      ]);
  });

  it.each<[string, Task | undefined]>([
    ["there is no such task", undefined],
    ["the task has no such call", { ...emptyTask(), id: "parent" }],
    [
      "the call is another agent's",
      calling("parent", ToolCallStatus.CANCELLED, "near"),
    ],
  ])("that are forged do nothing: %s", async (_, found) => {
    await keepAndStop();
    log = found;
    using untold = open();
    await untold.resume(async () => [agent()]);
    await expect.poll(files).toEqual([]);
    expect(told).toEqual([]);
    expect(notices).toEqual([
      'the cancellation of what task "parent" gave agent "far" is not told: no log has such a call',
    ]);
  });

  it("cancel the task that the log names, whatever the file says", async () => {
    await keepAndStop();
    const [file = ""] = files();
    const forged = JSON.parse(fileText(dataDirectory, file));
    putFile(
      dataDirectory,
      file,
      JSON.stringify({ ...forged, taskId: "other" }),
    );
    using untold = open();
    await untold.resume(async () => [agent()]);
    await expect.poll(files).toEqual([]);
    expect(told).toEqual(["child"]);
  });

  it("do nothing for a call that went on after a kill", async () => {
    log = calling("parent", ToolCallStatus.EXECUTING);
    const ended = Promise.withResolvers<void>();
    using untold = open(async (ms) => {
      if (waits.push(ms) === 4) await ended.promise;
    });
    await keep(untold);
    await expect.poll(() => waits.length).toBe(4);
    expect(files()).toHaveLength(1);
    log = calling("parent", ToolCallStatus.SUCCEEDED);
    ended.resolve();
    await expect.poll(files).toEqual([]);
    expect([told, notices]).toEqual([[], []]);
  });

  it("are dropped when the task gets work again", async () => {
    absences = Number.POSITIVE_INFINITY;
    using untold = open(() => new Promise(() => undefined));
    await keep(untold);
    await untold.drop("far", "another");
    await untold.drop("near", "child");
    expect(files()).toHaveLength(1);
    await untold.drop("far", "child");
    expect(files()).toEqual([]);
  });

  it("that cannot be read cost only themselves", async () => {
    await keepAndStop();
    const [file = ""] = files();
    const text = fileText(dataDirectory, file);
    const copy = `untold-cancel-${"0".repeat(64)}.json`;
    const broken = `untold-cancel-${"f".repeat(64)}.json`;
    putFile(dataDirectory, copy, text);
    putFile(dataDirectory, broken, "{");
    using untold = open();
    await untold.resume(async () => [agent()]);
    await expect.poll(files).toEqual([copy, broken]);
    expect(told).toEqual(["child"]);
    const unusable = notices.filter((each) => each.includes("cannot be used"));
    expect(unusable.toSorted()).toEqual([
      expect.stringContaining(`"${copy}" in the data directory`),
      expect.stringContaining(`"${broken}" in the data directory`),
    ]);
  });

  it("are at most 256, and none without a data directory", async () => {
    for (let count = 0; count < 256; count++) {
      const name = String(count).padStart(64, "0");
      putFile(dataDirectory, `untold-cancel-${name}.json`, "{}");
    }
    using untold = open();
    expect(await keep(untold)).toBe(false);
    expect(notices).toEqual([
      expect.stringMatching(/is not told later: .*256 are kept: limit is 256/),
    ]);
    using nowhere = new UntoldCancels({
      ...services(),
      dataDirectory: undefined,
    });
    expect(await keep(nowhere)).toBe(false);
  });

  it("are taken over by another server of a shared store, once that looks", async () => {
    const shared = memoryStorage();
    const looks: (() => void)[] = [];
    using other = open(
      (ms) =>
        ms === 10_000
          ? new Promise((resolve) => looks.push(() => resolve(undefined)))
          : Promise.resolve(),
      shared,
    );
    await other.resume(async () => [agent()]);
    {
      using dying = open(() => new Promise(() => undefined), shared);
      expect(await keep(dying)).toBe(true);
    }
    expect([files(), shared.kept.size, told]).toEqual([[], 1, []]);
    looks.shift()?.();
    await expect.poll(() => told).toEqual(["child"]);
    await expect.poll(() => shared.kept.size).toBe(0);
  });

  it("of a shared store are dropped when the task gets work at another server", async () => {
    const shared = memoryStorage();
    const found: boolean[] = [];
    const { read } = shared;
    shared.read = async (id) => {
      const cancel = await read(id);
      found.push(cancel !== undefined);
      return cancel;
    };
    const waiting = Promise.withResolvers<void>();
    using one = open(() => waiting.promise, shared);
    using other = open(() => new Promise(() => undefined), shared);
    await keep(one);
    await other.drop("far", "child");
    expect(shared.kept.size).toBe(0);
    waiting.resolve();
    await expect.poll(() => found).toEqual([true, false]);
    expect([told, notices]).toEqual([[], []]);
  });

  it("of a shared store are not told where another server drops them during the try", async () => {
    const shared = memoryStorage();
    const found: boolean[] = [];
    const { read } = shared;
    shared.read = async (id) => {
      const cancel = await read(id);
      found.push(cancel !== undefined);
      return cancel;
    };
    using one = open(undefined, shared);
    using other = open(() => new Promise(() => undefined), shared);
    meanwhile = () => other.drop("far", "child");
    await keep(one);
    await expect.poll(() => found).toEqual([true, true, false]);
    expect([told, notices, waits]).toEqual([[], [], [1000]]);
  });

  it("of the data directory move to a store that is shared from then on", async () => {
    await keepAndStop();
    const [file = ""] = files();
    const broken = `untold-cancel-${"f".repeat(64)}.json`;
    putFile(dataDirectory, broken, "{");
    const shared = memoryStorage();
    const { put } = shared;
    shared.put = async (id, cancel) => {
      expect(files()).toContain(file);
      return put(id, cancel);
    };
    using untold = open(undefined, shared);
    await untold.resume(async () => [agent()]);
    expect(files()).toEqual([broken]);
    await expect.poll(() => shared.kept.size).toBe(0);
    expect(told).toEqual(["child"]);
    expect(notices[0]).toMatch(
      /^the cancellation that is kept as "untold-cancel-f{64}\.json" in the data directory cannot be used: .*: no agent is told, remove it$/,
    );
  });

  it("of a shared store that nobody can read are named as rows", async () => {
    const shared = memoryStorage();
    const id = "f".repeat(64);
    shared.kept.set(id, create(UntoldCancelSchema));
    using untold = open(undefined, shared);
    await untold.resume(async () => [agent()]);
    expect(notices).toEqual([
      `the cancellation that is kept as "${id}" in the shared store (PostgreSQL: table untold_cancel) cannot be used: it has another name: no agent is told, remove it`,
    ]);
  });

  it("wait for a shared store that is away", async () => {
    const shared = memoryStorage();
    const away = new DevtoolError("the store is away", Code.Unavailable);
    let outages = 3;
    const { read } = shared;
    shared.read = (id) => (outages-- > 0 ? Promise.reject(away) : read(id));
    using untold = open(undefined, shared);
    await keep(untold);
    await expect.poll(() => shared.kept.size).toBe(0);
    expect([told, waits]).toEqual([["child"], [1000, 2000, 4000, 8000]]);
  });

  /** Keeps a cancellation, and ends before the first try. */
  async function keepAndStop(): Promise<void> {
    using untold = open(() => new Promise(() => undefined));
    await keep(untold);
    expect(files()).toHaveLength(1);
  }

  function keep(untold: UntoldCancels): Promise<boolean> {
    const task = { ...emptyTask(), id: "parent", principal: "operator" };
    return untold.keep(agent(), { ...CALL, task });
  }

  /** @param delay waits. Default: the time passes at once */
  function open(
    delay: (ms: number, signal: AbortSignal) => Promise<unknown> = async (
      ms,
      signal,
    ) => {
      await new Promise((resolve) => setTimeout(resolve));
      signal.throwIfAborted();
      waits.push(ms);
      nowMs += ms;
    },
    untoldCancels?: ReturnType<typeof memoryStorage>,
  ): UntoldCancels {
    return new UntoldCancels({ ...services(), untoldCancels }, delay);
  }

  function services(): ConstructorParameters<typeof UntoldCancels>[0] {
    // What ends behind a test says nothing in the next one.
    const heard = notices;
    const getTask = () => {
      if (log) return { task: log };
      throw new ConnectError("there is no such task", Code.NotFound);
    };
    return {
      dataDirectory,
      untoldCancels: undefined,
      now: () => new Date(nowMs),
      onNotice: (text) => void heard.push(text),
      agents: {
        transportFor: async () =>
          createRouterTransport(({ service }) =>
            service(TaskService, { getTask }),
          ),
      },
    };
  }

  function agent(): CalledAgent {
    const client = createDevtoolClient(
      createRouterTransport(({ service }) =>
        service(TaskService, {
          cancelTask: ({ taskId }) => {
            told.push(taskId);
            return {};
          },
        }),
      ),
    );
    return {
      ...{ name: "far", description: "", place: "elsewhere", chainId: "far" },
      definitionHash: "own",
      connect: async () => {
        await meanwhile();
        if (absences-- > 0) {
          throw new ConnectError("nobody is there", Code.Unavailable);
        }
        return { client, isIdempotent: true };
      },
      settingsFor: () => ({}),
    };
  }

  function files(): readonly string[] {
    return readdirSync(dataDirectory)
      .filter((name) => name.endsWith(".json"))
      .sort();
  }
});

/** What servers share that keeps cancellations. */
function memoryStorage() {
  const kept = new Map<string, UntoldCancel>();
  return {
    kept,
    list: async () => [...kept.keys()],
    read: async (id: string) => kept.get(id),
    put: async (id: string, cancel: UntoldCancel) => void kept.set(id, cancel),
    delete: async (id: string) => kept.delete(id),
  };
}

/** A task with a call of an agent, whose task is `child`. */
function calling(id: string, status: ToolCallStatus, agent = "far"): Task {
  const message = create(MessageSchema, {
    role: Role.AGENT,
    parts: [
      {
        content: { case: "toolCall", value: { toolCallId: "call", status } },
        toolCallDetail: { delegation: { agent, taskId: "child" } },
      },
    ],
  });
  return { ...emptyTask(), id, history: [message] };
}
