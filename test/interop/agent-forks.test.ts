import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { textMessage } from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { pathWith, REAL_AGENTS } from "../acp/real-agents.ts";
import { clientOf } from "../client-of.ts";
import { DEPTH, LEFT_TO_DEEP } from "../depth.ts";
import { startServing } from "../durability/crash/server-process.ts";

/** The agents that fork their sessions; all others say that they cannot. */
const FORKING = ["codex", "codex-acp", "opencode"];

describe.skipIf(DEPTH !== "deep")(`a fork${LEFT_TO_DEEP}`, () => {
  it.each(
    REAL_AGENTS.filter(({ isOptional, missing }) => !isOptional || !missing),
  )(
    "at $name knows what was said, or fails in words",
    { timeout: 180_000 },
    async (agent) => {
      if (agent.missing !== undefined) {
        throw new Error(`${agent.name} ${agent.missing}`);
      }
      const home = temporaryDirectory();
      const workspace = join(home, "work");
      mkdirSync(workspace);
      await using model = await agent.startModel();
      const PATH = pathWith(agent, join(home, "bin"));
      const own = agent.configure(home, model.url);
      const server = await startServing(
        [
          ...["--agent", agent.name, "--data", join(home, "data")],
          ...["--workspace", workspace, "--allow-host", "127.0.0.1"],
        ],
        { PATH, HOME: home, ...own },
      );
      await using stack = new AsyncDisposableStack();
      stack.defer(() => server.kill());
      const { tasks } = clientOf(server.info);
      const { task: first } = await tasks.sendMessage({
        message: textMessage("m1", "text Marzipan."),
      });
      const { task } = await tasks.sendMessage({
        message: textMessage("f1", "text Forked."),
        messageSettings: { fork: { taskId: first?.id ?? "" } },
      });
      if (!FORKING.includes(agent.name)) {
        expect(task?.state).toBe(TaskState.FAILED);
        expect(task?.error).toContain("does not have session/fork");
        return;
      }
      expect([task?.state, task?.error]).toEqual([TaskState.COMPLETED, ""]);
      expect(task?.agentSessionId).not.toBe(first?.agentSessionId);
      const asked = model
        .requests()
        .map(({ body }) => JSON.stringify(body))
        .findLast((body) => body.includes("Forked."));
      expect(asked).toContain("Marzipan.");
    },
  );
});
