import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { textMessage } from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { GoalState, type Task, toolCallsOf } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { roundsOf, seedOf } from "../depth.ts";
import { generator } from "../json-mutants.ts";
import { type ServerProcess, startServing } from "./crash/server-process.ts";

const KILLS = roundsOf("DEVTOOL_GOAL_KILLS", { quick: 1, ci: 4, deep: 100 });
const GOALS = roundsOf("DEVTOOL_GOALS", { quick: 2, ci: 4, deep: 20 });
/** How many turns each goal takes when nothing is killed. */
const LINES = 4;
/** A server is killed at most this long after it listens, in milliseconds. */
const MAX_LIFE_MS = 2_500;

describe(`${GOALS} goals under a server that is killed ${KILLS} times`, () => {
  it("are all achieved, and no command of theirs ran more often than its calls", async () => {
    const base = temporaryDirectory();
    const workspace = join(base, "work");
    mkdirSync(workspace);
    const random = generator(seedOf());
    const ids: string[] = [];
    const start = (): Promise<ServerProcess> =>
      startServing([
        ...["--data", join(base, "data"), "--workspace", workspace],
        ...["--approval-mode", "yolo"],
      ]);
    let server = await start();
    for (let goal = 0; goal < GOALS; goal++) {
      const { task } = await clientOf(server.info).tasks.sendMessage({
        message: textMessage(
          `goal-${goal}`,
          `run echo line >> lines-${goal}\nwait 50\ntext done`,
        ),
        messageSettings: { goal: goalOf(goal) },
        returnImmediately: true,
      });
      ids.push(task?.id ?? "");
    }
    for (let kill = 0; kill < KILLS; kill++) {
      await delay(random() * MAX_LIFE_MS);
      await server.kill();
      server = await start();
    }
    const client = clientOf(server.info);
    for (const [goal, taskId] of ids.entries()) {
      const get = async (): Promise<Task | undefined> =>
        (await client.tasks.getTask({ taskId })).task;
      await expect
        .poll(async () => (await get())?.goalProgress?.state, {
          timeout: 120_000,
        })
        .toBe(GoalState.ACHIEVED);
      const calls = (await get())?.history.flatMap(toolCallsOf) ?? [];
      const checks = calls.filter(({ toolCallId }) =>
        toolCallId.startsWith("check-"),
      );
      const [lines, checked] = [`lines-${goal}`, `checks-${goal}`].map((file) =>
        linesOf(workspace, file),
      );
      expect(lines).toBeGreaterThanOrEqual(LINES);
      expect(lines).toBeLessThanOrEqual(calls.length - checks.length);
      // A turn that was cut is not checked.
      expect(checked).toBeGreaterThan(0);
      expect(checked).toBeLessThanOrEqual(checks.length);
    }
    await server.kill();
  });
});

function goalOf(goal: number) {
  const check = `echo checked >> checks-${goal}; test $(wc -l < lines-${goal}) -ge ${LINES} || { wc -l < lines-${goal} | tr 0-9 a-j; false; }`;
  return { checks: [check], maxTurns: 1_000 };
}

function linesOf(workspace: string, file: string): number {
  const path = join(workspace, file);
  if (!existsSync(path)) return 0;
  return readFileSync(path, "utf8").split("\n").length - 1;
}
