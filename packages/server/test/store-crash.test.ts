import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { LEFT_TO_CI, roundsOf, seedOf } from "../../../test/depth.ts";
import { SqliteTaskStore } from "../src/store/sqlite-task-store.ts";
import {
  appenderArguments,
  appenderEnvironment,
  type Sabotage,
} from "./appender-process.ts";

const CYCLES = roundsOf("DEVTOOL_STORE_CRASHES", {
  quick: 2,
  ci: 10,
  deep: 300,
});
const seed = seedOf();
const TASKS = ["t1", "t2", "t3"];

describe.skipIf(LEFT_TO_CI !== "")(
  `a store whose process is killed${LEFT_TO_CI}`,
  () => {
    let directory: string;
    let path: string;
    beforeEach(() => {
      directory = temporaryDirectory();
      path = join(directory, "tasks.db");
    });

    it(`keeps each acknowledged event and no part of a batch in ${CYCLES} kills (seed ${seed}; R1)`, {
      timeout: 10 * 60_000 + CYCLES * 5_000,
    }, async () => {
      const acked = new Map<string, number>();
      for (let cycle = 0; cycle < CYCLES; cycle++) {
        await appendUntilKilled({
          path,
          sabotage: "none",
          lines: (seed * 31 + cycle * 97) % 300,
          acked,
        });
        expect(await faultsOf(path, acked)).toEqual([]);
      }
      expect(Math.min(...acked.values())).toBeGreaterThan(CYCLES);
    });

    it("cannot be opened by another process while its own runs", async () => {
      const args = appenderArguments(path, "bursts");
      const child = spawn(process.execPath, args, {
        env: appenderEnvironment("none"),
        stdio: ["ignore", "pipe", "inherit"],
      });
      try {
        await once(child.stdout, "data");
        await expect(SqliteTaskStore.open(path)).rejects.toThrow(
          /tasks\.db" is in use by another server/,
        );
      } finally {
        child.kill("SIGKILL");
        await once(child, "exit");
      }
      await using _store = await SqliteTaskStore.open(path);
    });

    it("is caught when it acknowledges before it has committed (sabotage)", async () => {
      const acked = new Map<string, number>();
      await appendUntilKilled({
        path,
        sabotage: "early-ack",
        lines: Number.POSITIVE_INFINITY,
        acked,
      });
      expect(await faultsOf(path, acked)).toContain(
        "t1 lost what was acknowledged: 0 of 11",
      );
    });
  },
);

interface Life {
  readonly path: string;
  readonly sabotage: Sabotage;
  /**
   * The number of lines after which the process is killed. Lines until its end
   * count too.
   */
  readonly lines: number;
  /** The last acknowledged sequence of each task; updated. */
  readonly acked: Map<string, number>;
}

async function appendUntilKilled({
  path,
  sabotage,
  lines,
  acked,
}: Life): Promise<void> {
  const env = appenderEnvironment(sabotage);
  const child = spawn(process.execPath, appenderArguments(path, "bursts"), {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const gone = once(child, "exit");
  let seen = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [, taskId = "", sequence] = line.split(" ");
    acked.set(taskId, Math.max(Number(sequence), acked.get(taskId) ?? 0));
    if (seen++ >= lines) child.kill("SIGKILL");
  }
  expect((await gone)[1]).toBe("SIGKILL");
}

/** Returns the violations of the store's guarantees in the logs. */
async function faultsOf(
  path: string,
  acked: ReadonlyMap<string, number>,
): Promise<string[]> {
  await using store = await SqliteTaskStore.open(path);
  const faults: string[] = [];
  for (const taskId of TASKS) {
    faults.push(...(await logFaults(store, taskId, acked.get(taskId) ?? 0)));
  }
  return faults;
}

async function logFaults(
  store: SqliteTaskStore,
  taskId: string,
  acked: number,
): Promise<string[]> {
  const faults: string[] = [];
  let length = 0;
  let last = "1/1";
  for await (const { sequence, payload } of store.readEvents(taskId, 0n)) {
    if (sequence !== BigInt(++length)) {
      faults.push(`${taskId} has ${sequence} in place ${length}`);
    }
    last = payload.case === "text" ? payload.value.text : "no text";
  }
  const [index, size] = last.split("/");
  if (index !== size) faults.push(`${taskId} ends within a batch: ${last}`);
  if (length < acked) {
    faults.push(`${taskId} lost what was acknowledged: ${length} of ${acked}`);
  }
  return faults;
}
