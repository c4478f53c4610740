/**
 * Prints the processor time of a durable append through an open task and the
 * store on SQLite, in microseconds. `packages-of.ts` decides whose code it is.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqliteTaskStore } from "@devtool/server/store";
import { appendsOf, beginTask } from "../load/task-appends.ts";

const WARM = 200;
const COUNTED = 600;

const directory = mkdtempSync(join(tmpdir(), "devtool-appends-"));
try {
  await using store = await SqliteTaskStore.open(join(directory, "tasks.db"));
  await using openTask = await beginTask(store);
  const append = async (pairs: number): Promise<void> => {
    for (let pair = 0; pair < pairs; pair++) {
      for (const run of appendsOf(openTask)) await run();
    }
  };
  await append(WARM);
  const before = process.cpuUsage();
  await append(COUNTED);
  const { user, system } = process.cpuUsage(before);
  console.log((user + system) / (2 * COUNTED));
} finally {
  rmSync(directory, { recursive: true });
}
process.exit();
