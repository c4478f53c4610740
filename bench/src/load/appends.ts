/**
 * R17: durable appends of one event a second, through open tasks and the store
 * on SQLite: one task, and 200 side by side; beside SQLite alone.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SqliteTaskStore } from "@devtool/server/store";
import type { TaskStore } from "@devtool/server/testing";
import { printRow, quantile } from "./row.ts";
import { busy, sabotageNamed } from "./sabotage.ts";
import { appendsOf, beginTask } from "./task-appends.ts";

const SECONDS = 1;
/**
 * Ours and SQLite alone take turns: a shared disk is not the same from one
 * second to the next.
 */
const ROUNDS = 8;

/** The durations of appends. */
interface Appends {
  /** Milliseconds of each. */
  readonly taken: readonly number[];
  readonly seconds: number;
  /**
   * Processor time of all outside of the kernel, whose share is that of a busy
   * disk, in microseconds.
   */
  readonly cpuUs: number;
  /** The same with the share of the kernel. */
  readonly allCpuUs: number;
}

const directory = mkdtempSync(join(tmpdir(), "devtool-appends-"));
{
  await using opened = await SqliteTaskStore.open(join(directory, "tasks.db"));
  const store = sabotageNamed() === "slow-store" ? slowStore(opened) : opened;
  await measure(() => appendToTasks(store, 1));
  const rounds: { readonly one: Appends; readonly bare: Appends }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({
      one: await measure(() => appendToTasks(store, 1)),
      bare: await measure(commitBare),
    });
  }
  const one = together(rounds.map((round) => round.one));
  const bare = together(rounds.map((round) => round.bare));
  console.log(`# SQLite alone: ${describe(bare)}; one task: ${describe(one)}`);
  printRow({
    name: "R17.one-task.appends-per-second",
    value: rateOf(one),
    target: { atLeast: 4000 },
  });
  printRow({
    name: "R17.one-task.share-of-sqlite-alone",
    value: rateOf(one) / rateOf(bare),
    target: { atLeast: 0.6 },
  });
  printRow({
    name: "R17.one-task.p99-ms",
    value: quantile(one.taken, 0.99),
    target: { atMost: 5 },
  });
  printRow({
    name: "R17.one-task.cpu-us",
    value: one.cpuUs / one.taken.length,
    target: { atMost: 125 },
  });
  printRow({
    name: "R17.one-task.cpu-over-sqlite-alone",
    value: allCpuOf(one) / allCpuOf(bare),
    target: { atMost: 4 },
  });
  // Long enough that beginning and ending 200 tasks counts for little.
  const many = await measure(() => appendToTasks(store, 200, 5));
  printRow({
    name: "R17.200-tasks.appends-per-second",
    value: rateOf(many),
    target: { atLeast: 4000 },
  });
}
rmSync(directory, { recursive: true });
process.exit();

function rateOf({ taken, seconds }: Appends): number {
  return taken.length / seconds;
}

/** The whole processor time of an append, in microseconds. */
function allCpuOf({ taken, allCpuUs }: Appends): number {
  return allCpuUs / taken.length;
}

function describe(appends: Appends): string {
  const { taken, cpuUs } = appends;
  const p99 = quantile(taken, 0.99).toFixed(2);
  return `${Math.round(rateOf(appends))} a second, p99 ${p99} ms, ${(cpuUs / taken.length).toFixed(0)} us of a processor each, ${allCpuOf(appends).toFixed(0)} with the kernel`;
}

function together(all: readonly Appends[]): Appends {
  const sum = (values: readonly number[]): number =>
    values.reduce((one, other) => one + other, 0);
  return {
    taken: all.flatMap(({ taken }) => taken),
    seconds: sum(all.map(({ seconds }) => seconds)),
    cpuUs: sum(all.map(({ cpuUs }) => cpuUs)),
    allCpuUs: sum(all.map(({ allCpuUs }) => allCpuUs)),
  };
}

async function measure(
  run: () => Promise<readonly number[]>,
): Promise<Appends> {
  const start = performance.now();
  const before = process.cpuUsage();
  const taken = await run();
  const { user, system } = process.cpuUsage(before);
  const seconds = (performance.now() - start) / 1000;
  return { taken, seconds, cpuUs: user, allCpuUs: user + system };
}

/**
 * Has each of several tasks, whose agents are at work, take and withdraw
 * messages one after the other, each once the last is durable.
 */
async function appendToTasks(
  store: TaskStore,
  tasks: number,
  seconds = SECONDS,
): Promise<readonly number[]> {
  const taken: number[] = [];
  const end = performance.now() + seconds * 1000;
  const timed = async (append: () => Promise<unknown>): Promise<void> => {
    const before = performance.now();
    await append();
    taken.push(performance.now() - before);
  };
  await Promise.all(
    Array.from({ length: tasks }, async () => {
      await using openTask = await beginTask(store);
      while (performance.now() < end) {
        for (const append of appendsOf(openTask)) await timed(append);
      }
    }),
  );
  return taken;
}

/**
 * The baseline of disk and SQLite: sequential commits of a row of the same
 * size.
 */
async function commitBare(): Promise<readonly number[]> {
  const database = new DatabaseSync(join(directory, "bare.db"));
  database.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS row (data BLOB)",
  );
  const put = database.prepare("INSERT INTO row (data) VALUES (?)");
  const data = Buffer.alloc(500);
  const taken: number[] = [];
  const end = performance.now() + SECONDS * 1000;
  while (performance.now() < end) {
    const before = performance.now();
    put.run(data);
    taken.push(performance.now() - before);
  }
  database.close();
  return taken;
}

/** A store that takes its time, and now and then more of it. */
function slowStore(store: TaskStore): TaskStore {
  let appends = 0;
  return new Proxy(store, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name === "append") busy(++appends % 50 === 0 ? 10 : 1);
      return value.bind(target);
    },
  });
}
