/**
 * Appends and wake-ups of the stores on disk, side by side: SQLite, and
 * PostgreSQL on the same disk with two servers.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { PostgresStore } from "@devtool/postgres";
import { findPostgres, startPostgres } from "@devtool/postgres/testing";
import {
  AuditRecordSchema,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import { SqliteTaskStore } from "@devtool/server/store";
import type { TaskStore } from "@devtool/server/testing";
import { printRow, quantile } from "./row.ts";

const SECONDS = 2;
const ROUNDS = 3;
/** The number of tasks, and of audit records of each append. */
const CASES = [
  [1, 0],
  [32, 0],
  [200, 0],
  [200, 1],
] as const;
const TEXT = "x".repeat(500);

/** The durations of the appends of a round, in milliseconds. */
interface Round {
  readonly taken: readonly number[];
  readonly seconds: number;
}

const bin = findPostgres();
const directory = mkdtempSync(join(tmpdir(), "devtool-stores-"));
if (bin !== undefined) {
  await using database = await startPostgres(bin, { fsync: "on" });
  await using sqlite = await SqliteTaskStore.open(join(directory, "tasks.db"));
  await using postgres = await PostgresStore.open({ url: database.url });
  await using other = await PostgresStore.open({ url: database.url });
  const both: readonly (readonly [name: string, store: TaskStore])[] = [
    ["sqlite", sqlite],
    ["postgres", postgres],
  ];
  const rates = new Map<string, number>();
  for (const [tasks, audit] of CASES) {
    const rounds = new Map<string, Round[]>(both.map(([name]) => [name, []]));
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, store] of both) {
        rounds.get(name)?.push(await appendTo(store, tasks, audit));
      }
    }
    for (const [name, measured] of rounds) {
      const what = `${name}, ${tasks} tasks${audit > 0 ? ", audited" : ""}`;
      rates.set(what, describe(what, measured));
    }
  }
  const share = (one: string, whole: string): number =>
    (rates.get(one) ?? 0) / (rates.get(whole) ?? Number.NaN);
  printRow({
    name: "stores.200-tasks.share-of-sqlite",
    value: share("postgres, 200 tasks", "sqlite, 200 tasks"),
    target: { atLeast: 0.4 },
  });
  printRow({
    name: "stores.postgres.audited-share",
    value: share("postgres, 200 tasks, audited", "postgres, 200 tasks"),
    target: { atLeast: 0.5 },
  });
  const woken = await wakeUps(postgres, other);
  console.log(
    `# wake-up at another server: p50 ${quantile(woken, 0.5).toFixed(2)} ms of ${woken.length}`,
  );
  printRow({
    name: "stores.postgres.wake-up.p99-ms",
    value: quantile(woken, 0.99),
    target: { atMost: 20 },
  });
}
rmSync(directory, { recursive: true });

/** Prints what appends took, and returns how many there were a second. */
function describe(what: string, rounds: readonly Round[]): number {
  const taken = rounds.flatMap((round) => round.taken);
  const rate =
    taken.length / rounds.reduce((sum, { seconds }) => sum + seconds, 0);
  const [p50, p99] = [0.5, 0.99].map((share) =>
    quantile(taken, share).toFixed(2),
  );
  console.log(
    `# ${what}: ${Math.round(rate)} appends a second, p50 ${p50} ms, p99 ${p99} ms`,
  );
  return rate;
}

/** Appends to tasks side by side, to each once its last append is durable. */
async function appendTo(
  store: TaskStore,
  tasks: number,
  audit: number,
): Promise<Round> {
  const taken: number[] = [];
  const began = performance.now();
  const end = began + SECONDS * 1000;
  const append = async (): Promise<void> => {
    const taskId = crypto.randomUUID();
    for (let sequence = 1n; performance.now() < end; sequence++) {
      const before = performance.now();
      const records = Array.from({ length: audit }, () =>
        create(AuditRecordSchema, { taskId, toolCallId: "c" }),
      );
      await store.append({
        events: [eventOf(taskId, sequence)],
        audit: records,
      });
      taken.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: tasks }, append));
  return { taken, seconds: (performance.now() - began) / 1000 };
}

/**
 * Milliseconds from when an append at one server is durable until another one
 * has read its event, at 100 a second.
 */
async function wakeUps(
  writer: PostgresStore,
  reader: PostgresStore,
): Promise<readonly number[]> {
  const taskId = crypto.randomUUID();
  const sent = new Map<bigint, number>();
  const seen = new Map<bigint, number>();
  let position = 0n;
  let reading = Promise.resolve();
  const read = async (): Promise<void> => {
    for await (const { sequence } of reader.readEvents(taskId, position)) {
      position = sequence;
      seen.set(sequence, performance.now());
    }
  };
  using _watch = reader.shared.changes.watch(taskId, () => {
    reading = reading.then(read);
  });
  // The connection listens by then.
  await delay(500);
  for (let sequence = 1n; sequence <= 500n; sequence++) {
    await writer.append({ events: [eventOf(taskId, sequence)] });
    sent.set(sequence, performance.now());
    await delay(10);
  }
  await delay(1500);
  await reading;
  return [...sent].map(([sequence, at]) =>
    Math.max(0, (seen.get(sequence) ?? Number.POSITIVE_INFINITY) - at),
  );
}

function eventOf(taskId: string, sequence: bigint): TaskEvent {
  return create(TaskEventSchema, {
    taskId,
    contextId: taskId,
    sequence,
    state: TaskState.WORKING,
    payload:
      sequence === 1n
        ? {
            case: "created",
            value: { principal: "local", message: { messageId: taskId } },
          }
        : { case: "text", value: { text: TEXT } },
  });
}
