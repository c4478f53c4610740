import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fakeAgentCommand } from "@devtool/acp/testing";
import { textMessage } from "@devtool/client";
import { FAKE_APP_SERVER } from "@devtool/codex/testing";
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
const TURNS = 4;
/** The kinds of agents that work for the goals, in turn. */
const KINDS = ["devtool", "acp", "own", "codex"] as const;
/** An agent of somebody else's module. */
const OWN = `
export const agent = {
  about: { name: "Own", description: "Says that it is done." },
  open: () => ({ createExecutor: () => ({ execute }) }),
};
async function* execute() {
  await new Promise((resolve) => setTimeout(resolve, 50));
  yield { case: "text", value: "done" };
}
`;
/** A server is killed at most this long after it listens, in milliseconds. */
const MAX_LIFE_MS = 2_500;

describe(`${GOALS} goals under a server that is killed ${KILLS} times`, () => {
  it("are all achieved, and no command of theirs ran more often than its calls", async () => {
    const base = temporaryDirectory();
    const workspace = join(base, "work");
    mkdirSync(workspace);
    const random = generator(seedOf());
    const ids: string[] = [];
    const { flags, environment } = agentsIn(base);
    const start = (): Promise<ServerProcess> =>
      startServing(
        [
          ...["--data", join(base, "data"), "--workspace", workspace],
          ...["--approval-mode", "yolo", ...flags],
        ],
        environment,
      );
    let server = await start();
    for (let goal = 0; goal < GOALS; goal++) {
      const { task } = await clientOf(server.info).tasks.sendMessage({
        message: textMessage(
          `goal-${goal}`,
          `run echo line >> lines-${goal}\nwait 50\ntext done`,
        ),
        messageSettings: { goal: goalOf(goal) },
        sessionSettings: { agent: kindOf(goal) },
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
        .poll(async () => (await get())?.goalProgress, { timeout: 120_000 })
        .toMatchObject({ state: GoalState.ACHIEVED, reason: "" });
      const calls = (await get())?.history.flatMap(toolCallsOf) ?? [];
      const checks = calls.filter(({ toolCallId }) =>
        toolCallId.startsWith("check-"),
      );
      const checked = linesOf(workspace, `checks-${goal}`);
      // A turn that was cut is not checked.
      expect(checked).toBeGreaterThan(0);
      expect(checked).toBeLessThanOrEqual(checks.length);
      if (kindOf(goal) !== "devtool") continue;
      const lines = linesOf(workspace, `lines-${goal}`);
      expect(lines).toBeGreaterThan(0);
      expect(lines).toBeLessThanOrEqual(calls.length - checks.length);
    }
    await server.kill();
  });
});

/** A goal that is achieved with the fourth run of its check. */
function goalOf(goal: number) {
  const file = `checks-${goal}`;
  const check = `echo x >> ${file}; test $(wc -l < ${file}) -ge ${TURNS} || { wc -l < ${file} | tr 0-9 a-j; false; }`;
  return { checks: [check], maxTurns: 1_000 };
}

function kindOf(goal: number): (typeof KINDS)[number] {
  return KINDS[goal % KINDS.length] ?? "devtool";
}

/** Makes an agent of each kind, and says how a server gets them. */
function agentsIn(base: string) {
  const [programs, sessions] = [join(base, "programs"), join(base, "sessions")];
  for (const directory of [programs, sessions]) mkdirSync(directory);
  const codex = join(programs, "codex");
  writeFileSync(codex, `#!/bin/sh\nexec ${quoted(FAKE_APP_SERVER)} "$@"\n`);
  chmodSync(codex, 0o755);
  const own = join(base, "own.mjs");
  writeFileSync(own, OWN);
  const { command, args = [] } = fakeAgentCommand("--state", sessions);
  const acp = `acp=acp:${quoted([command, ...args])}`;
  const agents = ["devtool", acp, `own=${own}`, "codex"];
  return {
    flags: agents.flatMap((agent) => ["--agent", agent]),
    environment: {
      ...process.env,
      HOME: base,
      CODEX_HOME: sessions,
      PATH: [programs, process.env.PATH].join(delimiter),
    },
  };
}

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(" ");
}

function linesOf(workspace: string, file: string): number {
  const path = join(workspace, file);
  if (!existsSync(path)) return 0;
  return readFileSync(path, "utf8").split("\n").length - 1;
}
