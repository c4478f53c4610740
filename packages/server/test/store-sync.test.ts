import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import {
  appenderArguments,
  appenderEnvironment,
  type Sabotage,
} from "./appender-process.ts";

const canTrace = spawnSync("strace", ["-o", "/dev/null", "true"]).status === 0;
const note = canTrace
  ? "R2a"
  : "R2a; SKIPPED: strace is missing or may not trace here";

describe.skipIf(!canTrace)(`a store under strace (${note})`, () => {
  let directory: string;
  beforeEach(() => {
    directory = temporaryDirectory();
  });

  it("syncs each append before it acknowledges it", () => {
    expect(countAcks(trace(directory, "none"))).toEqual({
      acks: 40,
      unsynced: 0,
    });
  });

  it("is caught when it does not sync (sabotage)", () => {
    expect(countAcks(trace(directory, "sync-off"))).toEqual({
      acks: 40,
      unsynced: 40,
    });
  });
});

/**
 * Runs the appender with sequential appends, and returns its system calls in
 * order.
 */
function trace(directory: string, sabotage: Sabotage): string[] {
  const calls = join(directory, "calls");
  const node = [
    process.execPath,
    ...appenderArguments(join(directory, "tasks.db"), "singles"),
  ];
  // -y names the file behind each descriptor.
  const options = [
    "-f",
    "-y",
    "-e",
    "trace=pwrite64,fsync,fdatasync,write",
    "-o",
    calls,
  ];
  const run = spawnSync("strace", [...options, ...node], {
    env: appenderEnvironment(sabotage),
    encoding: "utf8",
  });
  expect({ status: run.status, stderr: run.stderr }).toEqual({
    status: 0,
    stderr: "",
  });
  return readFileSync(calls, "utf8").split("\n");
}

/**
 * Counts acknowledgements, and those that were not preceded by a write and a
 * sync of the log.
 */
function countAcks(calls: readonly string[]): {
  acks: number;
  unsynced: number;
} {
  let log: "idle" | "written" | "synced" = "idle";
  const count = { acks: 0, unsynced: 0 };
  for (const call of calls) {
    if (/\bpwrite64\(\d+<[^>]*tasks\.db-wal>/.test(call)) {
      log = "written";
    } else if (
      /\bf(data)?sync\(\d+<[^>]*tasks\.db-wal>/.test(call) &&
      log === "written"
    ) {
      log = "synced";
    } else if (call.includes('"acked ')) {
      count.acks++;
      if (log !== "synced") count.unsynced++;
      log = "idle";
    }
  }
  return count;
}
