import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { streamMessage, textMessage } from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { TaskEvent } from "@devtool/schema";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { startServerProcess } from "./crash/server-process.ts";
import { clientFor } from "./crash/workload.ts";

const strace = hasStrace();

describe("a server in a process of its own", () => {
  let root: string;
  beforeEach(() => {
    root = temporaryDirectory();
  });
  const directories = () => ({
    data: join(root, "data"),
    workspace: join(root, "workspace"),
  });

  it.skipIf(!strace)(
    "syncs the disk before it answers, for each message (R2a; skipped where strace is missing)",
    async () => {
      const server = await startServerProcess(directories());
      onTestFinished(() => server.kill());
      const trace = join(root, "trace");
      const tracer = spawn("strace", [
        "-f",
        "-e",
        "trace=fsync,fdatasync,write,writev",
        "-o",
        trace,
        "-p",
        String(server.info.pid),
      ]);
      await once(tracer.stderr, "data");
      const client = clientFor(server.info);
      for (let index = 0; index < 20; index++) {
        await client.tasks.sendMessage({
          message: textMessage(`m${index}`, "text hello"),
        });
      }
      // strace may end before `stop` resolves.
      const traced = once(tracer, "exit");
      await server.stop();
      await traced;
      const calls = (await readFile(trace, "utf8")).split("\n");
      expect(unsyncedAnswers(calls)).toBe(0);
      expect(
        calls.filter((line) => line.includes("HTTP/1.1 200")).length,
      ).toBeGreaterThanOrEqual(20);
      // Sabotage of R2a: the same trace without its syncs must be caught.
      expect(
        unsyncedAnswers(calls.filter((line) => !/fsync|fdatasync/.test(line))),
      ).toBeGreaterThanOrEqual(20);
    },
  );

  it("stops at SIGTERM with 0, ends what it can and goes on with the rest after the next start (R13)", async () => {
    const first = await startServerProcess(directories());
    onTestFinished(() => first.kill());
    const signal = AbortSignal.timeout(300_000);
    const seen: TaskEvent[] = [];
    const read = async (): Promise<void> => {
      const message = textMessage("m", "text begun\nwait 60000\ntext never");
      for await (const event of clientFor(first.info).tasks.streamMessage(
        { request: { message } },
        { signal },
      )) {
        if (event.event) seen.push(event.event);
      }
    };
    const reading = read().catch(() => undefined);
    while (!seen.some(({ payload }) => payload.case === "text")) {
      await delay(10, undefined, { signal });
    }
    expect(await first.stop()).toBe(0);
    await reading;
    const second = await startServerProcess(directories());
    onTestFinished(() => second.kill());
    const taskId = seen[0]?.taskId ?? "";
    const client = clientFor(second.info);
    const continued: TaskEvent[] = [];
    for await (const event of streamMessage(
      client,
      { message: textMessage("n", "text again"), taskId },
      signal,
    )) {
      continued.push(event);
    }
    expect(continued.map(({ payload }) => payload.case)).toContain("text");
    expect(await second.stop()).toBe(0);
  });
});

/**
 * Counts answers that were written with no sync of the disk since the one
 * before.
 */
function unsyncedAnswers(calls: readonly string[]): number {
  let synced = false;
  let unsynced = 0;
  for (const call of calls) {
    if (/\b(fsync|fdatasync)\(/.test(call)) {
      synced = true;
    } else if (call.includes("HTTP/1.1 200")) {
      if (!synced) unsynced++;
      synced = false;
    }
  }
  return unsynced;
}

function hasStrace(): boolean {
  try {
    execFileSync("strace", ["-V"], { stdio: "ignore" });
    return true;
  } catch {
    console.warn("SKIPPED R2a: strace is not installed");
    return false;
  }
}
