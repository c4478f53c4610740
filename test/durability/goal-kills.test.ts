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

const KILLS = roundsOf("DEVTOOL_GOAL_KILLS", { quick: 1, ci: 3, deep: 100 });
const GOALS = roundsOf("DEVTOOL_GOALS", { quick: 2, ci: 5, deep: 20 });
/** How many turns each goal takes when nothing is killed. */
const TURNS = 4;
/** The kinds of agents that work for the goals, in turn. */
const KINDS = ["devtool", "acp", "own", "codex", "far"] as const;
/** The tokens of each request of the agent of somebody else's module. */
const REQUEST_TOKENS = 100;
/** What a goal may use that no check ever ends. */
const MAX_TOKENS = 1_000;
/** An agent of somebody else's module, which asks its model twice a turn. */
const OWN = `
import { appendFileSync } from "node:fs";
export const agent = {
  about: { name: "Own", description: "Says that it is done." },
  open: () => ({ createExecutor: () => ({ modelFor: () => "m", execute }) }),
};
async function* execute({ task }) {
  for (let request = 0; request < 2; request++) {
    appendFileSync(task.settings.workspacePath + "/asked-" + task.id, "x\\n");
    await new Promise((resolve) => setTimeout(resolve, 50));
    yield { case: "usage", value: { $typeName: "devtool.v1alpha.Usage", inputTokens: ${REQUEST_TOKENS}n, cachedTokens: 0n, outputTokens: 0n, thoughtTokens: 0n, contextTokens: 0n, contextWindowTokens: 0n } };
  }
  yield { case: "text", value: "done" };
}
`;
/** An agent that gives each message to one of another server. */
const FAR = "name: far\nagents: [{ name: peer }]\notherwise: [peer]\n";
/** A kill and the start behind it take some two seconds. */
const TIMEOUT_MS = 180_000 + KILLS * 5_000;
/** A server is killed at most this long after it listens, in milliseconds. */
const MAX_LIFE_MS = 2_500;

describe(`${GOALS} goals under a server that is killed ${KILLS} times`, () => {
  it(
    "are all achieved, no command of theirs ran more often than its calls, and a budget is passed by one request at most",
    async () => {
      const base = temporaryDirectory();
      const workspace = join(base, "work");
      mkdirSync(workspace);
      const random = generator(seedOf());
      const ids: string[] = [];
      await using peer = await startPeer(workspace);
      const { flags, environment } = agentsIn(base, peer.info);
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
      const { task: limited } = await clientOf(server.info).tasks.sendMessage({
        message: textMessage("limited", "Go on."),
        messageSettings: {
          goal: {
            checks: ["echo x >> limited; wc -l < limited | tr 0-9 a-j; false"],
            maxTurns: 1_000,
            budget: { tokens: BigInt(MAX_TOKENS) },
          },
        },
        sessionSettings: { agent: "own" },
        returnImmediately: true,
      });
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
        if (kindOf(goal) !== "devtool" && kindOf(goal) !== "far") continue;
        const lines = linesOf(workspace, `lines-${goal}`);
        expect(lines).toBeGreaterThan(0);
        expect(lines).toBeLessThanOrEqual(calls.length - checks.length);
      }
      const taskId = limited?.id ?? "";
      const spent = async (): Promise<Task | undefined> =>
        (await client.tasks.getTask({ taskId })).task;
      await expect
        .poll(async () => (await spent())?.goalProgress, { timeout: 120_000 })
        .toMatchObject({
          state: GoalState.UNMET,
          reason: expect.stringContaining(`the limit is ${MAX_TOKENS}`),
        });
      const { inputTokens = 0n } = (await spent())?.usage ?? {};
      expect(Number(inputTokens)).toBeGreaterThanOrEqual(MAX_TOKENS);
      // A turn that is cut in the middle does not end its second request, which
      // the agent has begun: so one may be beyond the limit.
      expect(Number(inputTokens)).toBeLessThanOrEqual(
        MAX_TOKENS + REQUEST_TOKENS,
      );
      // Nobody knows what a request used that a kill has cut.
      const asked = linesOf(workspace, `asked-${taskId}`);
      expect(asked).toBeLessThanOrEqual(MAX_TOKENS / REQUEST_TOKENS + KILLS);
      await server.kill();
    },
    TIMEOUT_MS,
  );
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
function agentsIn(base: string, peer: ServerProcess["info"]) {
  const [programs, sessions] = [join(base, "programs"), join(base, "sessions")];
  for (const directory of [programs, sessions]) mkdirSync(directory);
  const codex = join(programs, "codex");
  writeFileSync(codex, `#!/bin/sh\nexec ${quoted(FAKE_APP_SERVER)} "$@"\n`);
  chmodSync(codex, 0o755);
  const own = join(base, "own.mjs");
  writeFileSync(own, OWN);
  const far = join(base, "far.mesh.yaml");
  writeFileSync(far, FAR);
  const data = join(base, "data");
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(join(data, "peer-token"), peer.token, { mode: 0o600 });
  writeFileSync(
    join(data, "config.toml"),
    `[[remote_agents]]\nname = "peer"\nurl = "${peer.url}"\ndescription = ""\ntoken_file = "peer-token"\n`,
  );
  const { command, args = [] } = fakeAgentCommand("--state", sessions);
  const acp = `acp=acp:${quoted([command, ...args])}`;
  const agents = ["devtool", acp, `own=${own}`, "codex", far];
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

/** Starts a server whose agent works for goals of another one. */
async function startPeer(
  workspace: string,
): Promise<ServerProcess & AsyncDisposable> {
  const server = await startServing([
    ...["--data", temporaryDirectory(), "--workspace", workspace],
    ...["--approval-mode", "yolo"],
  ]);
  return { ...server, [Symbol.asyncDispose]: server.kill };
}

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(" ");
}

function linesOf(workspace: string, file: string): number {
  const path = join(workspace, file);
  if (!existsSync(path)) return 0;
  return readFileSync(path, "utf8").split("\n").length - 1;
}
