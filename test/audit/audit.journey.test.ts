import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { pendingToolCalls } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  AuditAction,
  type AuditRecord,
  type Task,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import { verifyAudit } from "@devtool/server";
import { beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI, roundsOf } from "../depth.ts";
import { byteFlips, changedBy } from "./changes.ts";
import { Conversation } from "./conversation.ts";
import { forgetLastRecord, killedAfter, readStore } from "./kills.ts";
import { movesOf, unannounced, unexplained } from "./why.ts";

const signal = AbortSignal.timeout(300_000);

describe("the audit log of a busy server (S13)", () => {
  let root: string;
  let events: readonly TaskEvent[];
  let records: readonly AuditRecord[];
  const tasks: Record<string, Task> = {};

  beforeAll(async () => {
    root = temporaryDirectory();
    await mkdir(join(root, "workspace"));
    await beforeRestart();
    await afterRestart();
    ({ events, records } = await readStore(join(root, "data/tasks.db")));
  });

  async function beforeRestart(): Promise<void> {
    await using server = await start();
    const user = new Conversation(server, signal);
    tasks.allowed = await user.start("read missing.txt\nread missing.txt x3");
    tasks.approved = await user.answer(
      await user.start("write approved.txt one"),
      "proceed_once",
    );
    tasks.declined = await user.answer(
      await user.start("write declined.txt one\nread approved.txt"),
      "cancel",
    );
    tasks.changed = await user.answer(
      await user.start("write changed.txt theirs"),
      "proceed_once",
      "mine",
    );
    const again = await user.answer(
      await user.start("write again.txt theirs"),
      "modify_with_editor",
      "mine",
    );
    tasks.again = await user.answer(again, "proceed_once");
    tasks.denied = await user.start("write denied.txt one", ApprovalMode.PLAN);
    const saved = await user.answer(
      await user.start("write saved.txt one"),
      "proceed_always_and_save",
    );
    tasks.saved = await user.say(saved, "write saved.txt two");
    tasks.unknown = await user.start("call no_such_tool {}");
    tasks.cancelled = await cancelledWhileItRuns(user);
    tasks.waiting = await user.start(
      "write waiting.txt one\nwrite both.txt two",
    );
  }

  async function cancelledWhileItRuns(user: Conversation): Promise<Task> {
    const asked = await user.start("run eval sleep 30");
    const following = user.answer(asked, "proceed_once");
    while (
      (await user.client.tasks.getTask({ taskId: asked.id })).task?.state !==
      TaskState.WORKING
    ) {
      await delay(5);
    }
    await user.client.tasks.cancelTask({ taskId: asked.id });
    return following;
  }

  async function afterRestart(): Promise<void> {
    await using server = await start();
    const user = new Conversation(server, signal);
    const [first] = pendingToolCalls(tasks.waiting ?? expect.unreachable());
    const one = await user.answerTo(
      tasks.waiting ?? expect.unreachable(),
      first ?? expect.unreachable(),
      "cancel",
    );
    tasks.waiting = await user.answer(one, "proceed_once");
  }

  function start() {
    return serveCodingAgent({
      workspace: join(root, "workspace"),
      dataDirectory: join(root, "data"),
    });
  }

  it("went as it should", async () => {
    const states = Object.entries(tasks).map(
      ([name, { state }]) => `${name} ${TaskState[state]}`,
    );
    expect(states.filter((state) => !state.endsWith("COMPLETED"))).toEqual([
      "cancelled CANCELED",
    ]);
    const contents = ["approved", "changed", "again", "saved", "both"].map(
      (name) => readFile(join(root, `workspace/${name}.txt`), "utf8"),
    );
    expect(await Promise.all(contents)).toEqual([
      "one",
      "mine",
      "mine",
      "two",
      "two",
    ]);
  });

  it("is read for one task alone", async () => {
    const taskId = tasks.again?.id ?? expect.unreachable();
    const own = records
      .filter((record) => record.taskId === taskId)
      .map(({ number }) => number);
    expect(own.length).toBeGreaterThan(1);
    await using server = await start();
    const { audit } = new Conversation(server, signal).client;
    const read = async (
      afterNumber: bigint,
    ): Promise<(bigint | undefined)[]> => {
      const responses = await Array.fromAsync(
        audit.readAudit({ taskId, afterNumber }),
      );
      return responses.map(({ record }) => record?.number);
    };
    expect(await read(0n)).toEqual(own);
    expect(await read(own[0] ?? 0n)).toEqual(own.slice(1));
  });

  it("answers for every call why it ran, or why it did not", () => {
    expect(unexplained(events, records)).toEqual([]);
    expect(movesOf(events).length).toBeGreaterThan(40);
    expect(new Set(records.map(({ action }) => action)).size).toBe(9);
  });

  it("tells the story of each call in its order", () => {
    const story = (name: string): string[] =>
      records
        .filter(({ taskId }) => taskId === tasks[name]?.id)
        .map(({ action, optionId }) =>
          `${AuditAction[action]} ${optionId}`.trim(),
        );
    expect(story("approved")).toEqual([
      "ASKED",
      "APPROVED proceed_once",
      "STARTED",
      "SUCCEEDED",
    ]);
    expect(story("declined")).toEqual([
      "ASKED",
      "ALLOWED",
      "DECLINED cancel",
      "CANCELLED",
    ]);
    expect(story("denied")).toEqual(["DENIED"]);
    expect(story("unknown")).toEqual(["FAILED"]);
    expect(story("again")).toEqual([
      "ASKED",
      "ASKED",
      "APPROVED proceed_once",
      "STARTED",
      "SUCCEEDED",
    ]);
    expect(story("cancelled")).toEqual([
      "ASKED",
      "APPROVED proceed_once",
      "STARTED",
      "CANCELLED",
    ]);
    expect(story("saved").slice(4)).toEqual([
      "ALLOWED",
      "STARTED",
      "SUCCEEDED",
    ]);
  });

  it("has the user's own content under the digest that was started, and never as approval of what was shown", () => {
    const story = records.filter(({ taskId }) => taskId === tasks.changed?.id);
    const [asked, answered, approved, started] = story;
    expect(story.map(({ action }) => AuditAction[action])).toEqual([
      "ASKED",
      "APPROVED",
      "APPROVED",
      "STARTED",
      "SUCCEEDED",
    ]);
    expect(answered?.digest).toHaveLength(0);
    expect(approved?.digest).toEqual(started?.digest);
    expect(approved?.digest).not.toEqual(asked?.digest);
    expect(approved?.shown).toContain('"content":"mine"');
  });

  it("leaves calls unexplained if a decision, start or end is removed (sabotage)", () => {
    const unseen = records.filter(
      (record) =>
        unexplained(
          events,
          records.filter((one) => one !== record),
        ).length === 0,
    );
    // The answer with the user's own content is recorded twice: at the answer,
    // and with what it binds at the start.
    expect(unseen.map(({ taskId }) => taskId)).toEqual([]);
  });

  it("shows a start whose digest differs from the decision (sabotage)", () => {
    const starts = records.filter(
      ({ action }) => action === AuditAction.STARTED,
    );
    for (const start of starts) {
      const digest = Uint8Array.from(start.digest, (byte, index) =>
        index === 0 ? byte ^ 1 : byte,
      );
      const changed = records.map((record) =>
        record === start ? { ...record, digest } : record,
      );
      expect(unexplained(events, changed)).toHaveLength(1);
    }
    expect(starts.length).toBeGreaterThan(8);
  });

  it("is in order", async () => {
    expect(await verifyAudit(iterate(records))).toMatchObject({
      count: BigInt(records.length),
      fault: undefined,
    });
  });
});

describe("the audit log of a server that is killed (S13)", () => {
  const cycles = roundsOf("DEVTOOL_AUDIT_CYCLES", {
    quick: 1,
    ci: 5,
    deep: 100,
  });

  it(`has a record for each event and an event for each record after ${cycles} kills`, {
    timeout: 10 * 60_000 + cycles * 5_000,
  }, async () => {
    const root = temporaryDirectory();
    let count = 0;
    // A busy machine writes less in each life, so there are as many lives as it
    // takes.
    for (let cycle = 0; cycle < cycles || count <= 100; cycle++) {
      const { events, records } = await killedAfter(root, (cycle * 37) % 200);
      expect(unexplained(events, records)).toEqual([]);
      expect(unannounced(await writtenIn(root), events, records)).toEqual([]);
      expect(await verifyAudit(iterate(records))).toMatchObject({
        fault: undefined,
      });
      expect(records.length).toBeGreaterThanOrEqual(count);
      count = records.length;
    }
    forgetLastRecord(join(root, "data/tasks.db"));
    const { events, records } = await readStore(join(root, "data/tasks.db"));
    expect(unexplained(events, records), "sabotage").toHaveLength(1);
    const files = await writtenIn(root);
    const unstarted = records.filter(
      ({ action }) => action !== AuditAction.STARTED,
    );
    expect(unannounced(files, events, unstarted), "sabotage").toEqual(files);
    console.info(
      `S13: ${count} records and ${files.length} effects over ${cycles} kills`,
    );
  });
});

/** One byte of this many is changed. */
const ONE_IN = roundsOf("DEVTOOL_AUDIT_FLIPS", { quick: 30, ci: 5, deep: 1 });

describe.skipIf(LEFT_TO_CI !== "")(
  `an audit log on disk (S13)${LEFT_TO_CI}`,
  () => {
    let root: string;
    let path: string;
    let length: number;

    beforeAll(async () => {
      root = temporaryDirectory();
      path = join(root, "data/tasks.db");
      await mkdir(join(root, "workspace"));
      await using server = await serveCodingAgent({
        workspace: join(root, "workspace"),
        dataDirectory: join(root, "data"),
      });
      // Its own, because the deep tier's hundred kills before this take longer
      // than the file's signal lasts.
      const user = new Conversation(server, AbortSignal.timeout(60_000));
      await user.answer(
        await user.start("write one.txt one"),
        "proceed_once",
        "mine",
      );
      await user.answer(await user.start("write two.txt two"), "cancel");
      await user.start("write three.txt three", ApprovalMode.PLAN);
      await server.close();
      length = (await readStore(path)).records.length;
      expect(length).toBe(8);
    });

    it(`shows each byte that was changed in a record, whatever it became (one in ${ONE_IN} is)`, {
      timeout: 600_000,
    }, async () => {
      const flips = byteFlips(path).filter(
        (_flip, index) => index % ONE_IN === 0,
      );
      const unseen: unknown[] = [];
      for (const { number, at, data } of flips) {
        const found = await changedBy(path, (database) =>
          database
            .prepare("UPDATE audit SET data = ? WHERE number = ?")
            .run(data, number),
        );
        if (!found) unseen.push({ number, at });
      }
      console.info(
        `S13: ${flips.length} bytes flipped, ${unseen.length} not seen`,
      );
      expect(flips.length).toBeGreaterThan(1_500 / ONE_IN);
      expect(unseen).toEqual([]);
    });

    it("shows every change of the number of a record", async () => {
      for (let number = 1; number <= length; number++) {
        for (let bit = 0; bit < 64; bit++) {
          const other = BigInt.asIntN(64, BigInt(number) ^ (1n << BigInt(bit)));
          const change = (database: DatabaseSync): void => {
            // A number that is taken is given up by its record.
            database.prepare("DELETE FROM audit WHERE number = ?").run(other);
            database
              .prepare("UPDATE audit SET number = ? WHERE number = ?")
              .run(other, number);
          };
          expect(await changedBy(path, change), `${number} to ${other}`).toBe(
            true,
          );
        }
      }
    });

    it("shows a record that was taken out, put in again, moved or doubled", async () => {
      const changes = [
        ...Array.from(
          { length: length - 1 },
          (_, index) => `DELETE FROM audit WHERE number = ${index + 1}`,
        ),
        "DELETE FROM audit WHERE number < 4",
        `INSERT INTO audit SELECT ${length + 1}, data FROM audit WHERE number = ${length}`,
        "UPDATE audit SET data = (SELECT data FROM audit WHERE number = 3) WHERE number = 4",
        "UPDATE audit SET number = -number",
        "UPDATE audit SET data = x''",
      ];
      for (const change of changes) {
        expect(
          await changedBy(path, (database) => database.exec(change)),
          change,
        ).toBe(true);
      }
    });

    it("shows that what was shown is another text, or gone without a record of a deletion", async () => {
      const changes = [
        "UPDATE audit_shown SET data = CAST(data || x'20' AS BLOB)",
        "UPDATE audit_shown SET data = x''",
        "UPDATE audit_shown SET task_id = 'other'",
        "DELETE FROM audit_shown WHERE rowid = (SELECT max(rowid) FROM audit_shown)",
      ];
      for (const change of changes) {
        expect(
          await changedBy(path, (database) => database.exec(change)),
          change,
        ).toBe(true);
      }
    });

    it("does not show a cut end by itself: the hash that somebody noted does", async () => {
      const before = await verifyAudit(
        iterate((await readStore(path)).records),
      );
      expect(
        await changedBy(path, (database) =>
          database.exec("DELETE FROM audit WHERE number > 5"),
        ),
      ).toBe(false);
      expect(before.count).toBe(BigInt(length));
    });

    it("is in order when nothing was changed (the control of these)", async () => {
      expect(await changedBy(path, () => undefined)).toBe(false);
    });
  },
);

/**
 * The files that calls wrote: whole, not what a kill left of one that was not
 * put in its place yet.
 */
async function writtenIn(root: string): Promise<string[]> {
  const names = await readdir(join(root, "workspace"));
  return names.filter((name) => name.endsWith(".txt"));
}

async function* iterate<T>(items: Iterable<T>): AsyncIterable<T> {
  yield* items;
}
