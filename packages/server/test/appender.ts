/**
 * A program that appends to a store and writes each acknowledgement to standard
 * output, for tests that kill or trace it.
 */
import { writeSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { type TaskEvent, TaskEventSchema } from "@devtool/schema";
import { openDatabase } from "../src/store/sqlite-database.ts";
import { SqliteTaskStore } from "../src/store/sqlite-task-store.ts";
import { TASK_SCHEMA } from "../src/store/task-schema.ts";

const TASKS = ["t1", "t2", "t3"];
const [, , path = "", mode = "bursts"] = process.argv;
const sabotage = process.env.DEVTOOL_TEST_SABOTAGE;

const database = await openDatabase(path, TASK_SCHEMA);
if (sabotage === "sync-off") database.exec("PRAGMA synchronous = OFF");
const store = new SqliteTaskStore(database);
await (mode === "singles" ? appendSingles(40) : appendBursts());
await store[Symbol.asyncDispose]();

async function appendSingles(count: number): Promise<void> {
  for (let sequence = 1n; sequence <= count; sequence++) {
    await store.append({ events: batch("t1", sequence, 1) });
    acknowledge("t1", sequence);
  }
}

/** Appends to all tasks concurrently, until the process is killed. */
async function appendBursts(): Promise<void> {
  const ends = new Map<string, bigint>();
  for (const taskId of TASKS) ends.set(taskId, await lastSequence(taskId));
  for (;;) {
    const bursts = TASKS.map((taskId) => appendBurst(taskId, ends));
    if (sabotage === "early-ack") process.kill(process.pid, "SIGKILL");
    await Promise.all(bursts);
  }
}

/** Appends a few batches to one task without waiting between them. */
async function appendBurst(
  taskId: string,
  ends: Map<string, bigint>,
): Promise<void> {
  const appends = [1, 7, 3].map(async (size) => {
    const first = (ends.get(taskId) ?? 0n) + 1n;
    const last = first + BigInt(size) - 1n;
    ends.set(taskId, last);
    const appended = store.append({ events: batch(taskId, first, size) });
    if (sabotage !== "early-ack") await appended;
    acknowledge(taskId, last);
  });
  await Promise.all(appends);
}

/**
 * Creates the events of a batch. The text of each is its index and the size of
 * the batch.
 */
function batch(taskId: string, first: bigint, size: number): TaskEvent[] {
  return Array.from({ length: size }, (_, index) =>
    create(TaskEventSchema, {
      taskId,
      sequence: first + BigInt(index),
      payload: { case: "text", value: { text: `${index + 1}/${size}` } },
    }),
  );
}

async function lastSequence(taskId: string): Promise<bigint> {
  let last = 0n;
  for await (const { sequence } of store.readEvents(taskId, 0n)) {
    last = sequence;
  }
  return last;
}

/**
 * Writes an acknowledgement synchronously, so that the test reads it however
 * the process ends.
 */
function acknowledge(taskId: string, sequence: bigint): void {
  writeSync(1, `acked ${taskId} ${sequence}\n`);
}
