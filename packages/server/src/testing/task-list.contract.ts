import { create } from "@bufbuild/protobuf";
import { TaskEventSchema, TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { Code } from "../errors.ts";
import type { TaskQuery, TaskStore } from "../store/task-store.ts";
import { created, labeled, message, renamed, text } from "./task-events.ts";

/** Opens an empty store. */
export type OpenTaskStore = () => Promise<TaskStore>;

/**
 * Opens a store at a place that the suite names with letters, digits and `-`:
 * an empty one at a new place, and later what was stored there.
 */
export type OpenAt<Store> = (place: string) => Promise<Store>;

/** What a store has when it is opened again: all, or nothing. */
export type Keeping = "durable" | "forgets";

/** Tests the lists of a `TaskStore`: their order, pages and filters. */
export function testTaskList(open: OpenTaskStore): void {
  describe("list", () => testList(open));
  describe("labels", () => testLabels(open));
}

function testList(open: OpenTaskStore): void {
  it("rejects a cursor that it did not return", async () => {
    await using store = await open();
    for (const cursor of ["nonsense", "null", "[1]", '["1", "a"]']) {
      await expect(store.list({ limit: 1, cursor })).rejects.toMatchObject({
        code: Code.InvalidArgument,
      });
    }
  });

  it("lists no task twice when one changes between two pages", async () => {
    await using store = await open();
    for (const [index, id] of ["a", "b", "c"].entries()) {
      await store.append({ events: [created(id, index / 2)] });
    }
    const first = await store.list({ limit: 2 });
    await store.append({ events: [text("c", 2n)] });
    const second = await store.list({ limit: 2, cursor: first.cursor ?? "" });
    expect(first.tasks.map(({ last }) => last.taskId)).toEqual(["c", "b"]);
    expect(second.tasks.map(({ last }) => last.taskId)).toEqual(["a"]);
  });

  it("sorts by last change, the latest first, over pages and for equal times", async () => {
    await using store = await open();
    for (const [index, id] of ["a", "b", "c", "d", "e"].entries()) {
      await store.append({ events: [created(id, index < 3 ? 5 : 7)] });
    }
    const first = await store.list({ principal: "me", limit: 2 });
    const second = await store.list({
      principal: "me",
      limit: 2,
      cursor: first.cursor ?? "",
    });
    const third = await store.list({
      principal: "me",
      limit: 2,
      cursor: second.cursor ?? "",
    });
    const ids = [first, second, third].map(({ tasks }) =>
      tasks.map(({ last }) => last.taskId),
    );
    expect(ids).toEqual([["e", "d"], ["c", "b"], ["a"]]);
    expect(third.cursor).toBeUndefined();
  });

  it("lists the tasks of all principals, with whose they are", async () => {
    await using store = await open();
    await store.append({ events: [created("t1", 1)] });
    const { payload, ...event } = created("t2", 2);
    if (payload.case !== "created") throw new Error("no created event");
    const value = { ...payload.value, principal: "o\u0000ther" };
    const other = { ...event, payload: { case: payload.case, value } };
    await store.append({ events: [other] });
    await store.append({ events: [text("t2", 2n)] });
    const { tasks } = await store.list({ limit: 9 });
    expect(
      tasks.map(({ last, principal }) => [last.taskId, principal]),
    ).toEqual([
      ["t2", "o\u0000ther"],
      ["t1", "me"],
    ]);
  });

  it("pages through the tasks of all principals in the order of their changes", async () => {
    await using store = await open();
    const changes = [
      ["a", "t1"],
      ["b", "t2"],
      ["c", "t3"],
      ["a", "t4"],
      ["c", "t5"],
      ["b", "t6"],
      ["a", "t7"],
    ] as const;
    for (const [index, [principal, id]] of changes.entries()) {
      // Two change in the same millisecond.
      const event = created(id, Math.floor(index / 2));
      const { payload } = event;
      if (payload.case !== "created") throw new Error("no created event");
      const value = { ...payload.value, principal };
      const of = { ...event, payload: { case: payload.case, value } };
      await store.append({ events: [of] });
    }
    const ids: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await store.list({ limit: 2, ...(cursor && { cursor }) });
      ids.push(...page.tasks.map(({ last }) => last.taskId));
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    const whole = await store.list({ limit: 9 });
    expect(ids).toEqual(whole.tasks.map(({ last }) => last.taskId));
    expect(ids.toSorted()).toEqual(changes.map(([, id]) => id));
    expect(ids[0]).toBe("t7");
  });

  it("filters by principal, context and state", async () => {
    await using store = await open();
    await store.append({ events: [created("t1")] });
    await store.append({ events: [text("t1", 2n)] });
    expect((await store.list({ principal: "other", limit: 9 })).tasks).toEqual(
      [],
    );
    expect((await store.list({ contextId: "other", limit: 9 })).tasks).toEqual(
      [],
    );
    expect(
      (await store.list({ state: TaskState.SUBMITTED, limit: 9 })).tasks,
    ).toEqual([]);
    const { tasks } = await store.list({
      principal: "me",
      contextId: "c",
      state: TaskState.WORKING,
      limit: 9,
    });
    expect(tasks.map(({ last }) => last.sequence)).toEqual([2n]);
  });
}

function testLabels(open: OpenTaskStore): void {
  it("has the title, workspace and agent of each task, and filters by them", async () => {
    await using store = await open();
    await store.append({
      events: [labeled("t1", "Fix the ÄRGER", "/w/a", "one")],
    });
    await store.append({
      events: [labeled("t2", "fix b\\c 100%_", "/w/b", "two"), text("t2", 2n)],
    });
    await store.append({ events: [created("u3")] });
    const { tasks } = await store.list({ limit: 9 });
    expect(
      tasks.map(({ title, workspacePath, agent }) => [
        title,
        workspacePath,
        agent,
      ]),
    ).toEqual([
      ["fix b\\c 100%_", "/w/b", "two"],
      ["", "", ""],
      ["Fix the ÄRGER", "/w/a", "one"],
    ]);
    const idsOf = async (query: Partial<TaskQuery>) =>
      (await store.list({ ...query, limit: 9 })).tasks.map(
        ({ last }) => last.taskId,
      );
    expect(await idsOf({ titleContains: "FIX" })).toEqual(["t2", "t1"]);
    expect(await idsOf({ titleContains: "ärger" })).toEqual(["t1"]);
    expect(await idsOf({ titleContains: "\\" })).toEqual(["t2"]);
    expect(await idsOf({ titleContains: "0%_" })).toEqual(["t2"]);
    expect(await idsOf({ titleContains: "%" })).toEqual(["t2"]);
    expect(await idsOf({ titleContains: "\0" })).toEqual([]);
    expect(await idsOf({ workspacePath: "/w" })).toEqual([]);
    expect(await idsOf({ workspacePath: "/w/a", agent: "one" })).toEqual([
      "t1",
    ]);
    expect(await idsOf({ workspacePath: "/w/a", agent: "two" })).toEqual([]);
    expect(await idsOf({ idPrefix: "t" })).toEqual(["t2", "t1"]);
    expect(await idsOf({ idPrefix: "%" })).toEqual([]);
    expect(await idsOf({ idPrefix: "u3", principal: "other" })).toEqual([]);
  });

  it("U11: counts the messages that began or continued a turn", async () => {
    await using store = await open();
    const about = { taskId: "t1", contextId: "c", state: TaskState.WORKING };
    const queued = create(TaskEventSchema, {
      ...about,
      sequence: 4n,
      payload: {
        case: "messageQueued",
        value: { message: { messageId: "q" } },
      },
    });
    const value = { toolCallId: "c1" };
    const parts = [{ content: { case: "confirmation" as const, value } }];
    const answer = create(TaskEventSchema, {
      ...about,
      sequence: 5n,
      payload: { case: "message", value: { messageId: "a", parts } },
    });
    const taken = create(TaskEventSchema, {
      ...about,
      sequence: 6n,
      payload: { case: "messageTaken", value: { messageId: "q" } },
    });
    const countOf = async () =>
      (await store.list({ limit: 1 })).tasks[0]?.messageCount;
    await store.append({ events: [created("t1"), text("t1", 2n)] });
    expect(await countOf()).toBe(1);
    await Promise.all([
      store.append({ events: [message("t1", 3n, "m2")] }),
      store.append({ events: [queued, answer] }),
    ]);
    expect(await countOf()).toBe(2);
    await store.append({ events: [taken, renamed("t1", 7n, "another title")] });
    expect(await countOf()).toBe(3);
    await expect(
      store.append({ events: [message("t1", 7n, "m3")] }),
    ).rejects.toThrow();
    await store.append({ events: [text("t1", 8n)] });
    expect(await countOf()).toBe(3);
  });

  it("pages through the tasks that a filter selects, none twice and none left out when one is renamed", async () => {
    await using store = await open();
    for (const [at, id] of ["a", "b", "c", "d", "e"].entries()) {
      await store.append({
        events: [labeled(id, at % 2 === 0 ? "even" : "odd", "/w", "", at / 4)],
      });
    }
    const first = await store.list({ titleContains: "even", limit: 2 });
    await store.append({ events: [renamed("e", 2n, "even more")] });
    await store.append({ events: [renamed("b", 2n, "even now")] });
    const second = await store.list({
      titleContains: "even",
      limit: 2,
      cursor: first.cursor ?? "",
    });
    expect(
      [first, second].map(({ tasks }) => tasks.map(({ last }) => last.taskId)),
    ).toEqual([["e", "c"], ["a"]]);
    expect(second.cursor).toBeUndefined();
  });

  it("finds each part of a title, of any length and case, among many tasks", async () => {
    await using store = await open();
    const titles = Array.from(
      { length: 1200 },
      (_, at) => `Fix the Ⓕlaky TEST ${at} 漢字${at % 300 === 7 ? "🙂 q" : ""}`,
    );
    await Promise.all(
      titles.map((title, at) =>
        store.append({ events: [labeled(`t${at}`, title, "/w", "a", at)] }),
      ),
    );
    await store.append({ events: [renamed("t7", 2n, "Renamed zz")] });
    const now = titles.with(7, "Renamed zz");
    const searches = [
      "f",
      "Q",
      "zz",
      "漢",
      "字",
      "🙂",
      "字🙂",
      "test 11",
      "Flaky",
    ];
    for (const search of [
      ...searches,
      "fix the flaky test 1199",
      "t 7",
      "xq",
    ]) {
      const key = search.toLowerCase();
      const found = now.flatMap((title, at) =>
        title.normalize("NFKC").toLowerCase().includes(key) ? [`t${at}`] : [],
      );
      const listed: string[] = [];
      let cursor: string | undefined;
      do {
        const query = { titleContains: search, principal: "me" };
        const page = await store.list({ ...query, limit: 500, cursor });
        listed.push(...page.tasks.map(({ last }) => last.taskId));
        cursor = page.cursor;
      } while (cursor !== undefined);
      expect([search, listed.toSorted()]).toEqual([search, found.toSorted()]);
    }
    const query = { titleContains: "flaky", principal: "other", limit: 9 };
    expect((await store.list(query)).tasks).toEqual([]);
  });

  it("has the last of a task's titles, also when it begins and is renamed at once", async () => {
    await using store = await open();
    const begun = store.append({
      events: [labeled("t1", "one", "/w", "a"), renamed("t1", 2n, "two")],
    });
    await Promise.all([
      begun,
      store.append({ events: [renamed("t1", 3n, "three")] }),
    ]);
    await store.append({ events: [text("t1", 4n)] });
    const { tasks } = await store.list({ titleContains: "three", limit: 1 });
    expect(tasks).toMatchObject([
      { title: "three", workspacePath: "/w", agent: "a" },
    ]);
    expect(
      (await store.list({ titleContains: "one", limit: 1 })).tasks,
    ).toEqual([]);
  });
}
