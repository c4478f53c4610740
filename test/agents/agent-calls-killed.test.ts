import { readdirSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  confirmationsOf,
  findToolCall,
  type Task,
  TaskState,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { rotate, roundsOf, seedOf, variantsOf } from "../depth.ts";
import { generator } from "../json-mutants.ts";
import { processesOf } from "../processes.ts";
import { KILLS, TwoServers } from "./chain/two-servers.ts";

const signal = AbortSignal.timeout(900_000);
/** How often each chain is played. */
const ROUNDS = roundsOf("DEVTOOL_CHAINS", { quick: 1, ci: 1, deep: 4 });

const random = generator(seedOf());

/** Who is killed; `"connections"` cuts those to the server below. */
type Blow = (typeof KILLS)[number] | "connections";
const BLOWS: readonly Blow[] = [...KILLS, "connections"];

/**
 * By what an agent is called: as a tool, which the configuration or a file of
 * `.gemini/agents` names, and by a mesh.
 */
const CALLERS = [
  { by: "tool", agent: "helper" },
  { by: "mesh", agent: "helper" },
  { by: "remote file", agent: "filed" },
];

/** Each blow with each caller, so that four of a round have all of both. */
const CHAINS = Array.from({ length: ROUNDS }, (_, round) =>
  BLOWS.flatMap((who, at) =>
    rotate(CALLERS, at).map((caller) => ({ ...caller, who, round })),
  ),
).flat();

describe("a chain of agents over two servers that are killed", () => {
  let base: string;
  let servers: TwoServers;

  beforeEach(async () => {
    base = temporaryDirectory();
    await mkdir(join(base, "work/below"), { recursive: true });
    const mesh = "agents: [{ name: helper }, { name: devtool }]\n";
    putFile(base, "front.mesh.yaml", mesh);
    servers = await TwoServers.start(base, {
      above: `[[agents]]\nmodule = "devtool"\n[[agents]]\nmodule = ${JSON.stringify(join(base, "front.mesh.yaml"))}\n`,
      below: "",
    });
    const { url, token } = servers.place("below");
    putFile(
      base,
      "home/.gemini/agents/filed.md",
      `---\nkind: remote\nname: filed\nagent_card_url: ${url}/.well-known/agent-card.json\nauth: { type: http, scheme: Bearer, token: "${token}" }\n---\n`,
    );
  });
  afterEach(() => servers[Symbol.asyncDispose]());

  it.each(variantsOf("chains of agents", CHAINS, 1, BLOWS.length))(
    "have the open question again, and its answer once: by a $by, $who, round $round",
    async ({ by, agent, who }) => {
      const script = "write below/made.txt made\ntext Made.";
      const above = servers.client("above").tasks;
      const { task: begun } = await above.sendMessage({
        sessionSettings: { agent: by === "mesh" ? "front" : "devtool" },
        returnImmediately: by === "mesh",
        message: textMessage(
          crypto.randomUUID(),
          by === "mesh"
            ? `@helper ${script}`
            : `call agent_${agent} ${JSON.stringify({ message: script })}`,
        ),
      });
      if (!begun) throw new Error("there is no task");
      const { id } = begun;
      if (by !== "mesh") await answerWith(id, crypto.randomUUID());
      // The one above is killed at any point of the call's beginning.
      if (who.includes("above")) await strike(["above"], random() * 1500);
      const asked = await until(id, (task) =>
        task.state === TaskState.INPUT_REQUIRED &&
        pendingToolCalls(task).length > 0
          ? pendingToolCalls(task)[0]
          : undefined,
      );
      expect(asked.description).toContain(`Agent ${agent} → "write_file"`);
      await strike(who, 0);
      const below = servers.client("below").tasks;
      const again = await until(id, (task) => pendingToolCalls(task)[0]);
      expect([again.toolCallId, again.shownDigest]).toEqual([
        asked.toolCallId,
        asked.shownDigest,
      ]);
      const answerId = crypto.randomUUID();
      await answerWith(id, answerId);
      await strike(who, random() * 300);
      const done = await finish(id);
      expect(fileText(base, "work/below/made.txt")).toBe("made");
      const { tasks: children } = await below.listTasks({});
      expect(children).toHaveLength(1);
      const { task: child } = await below.getTask({
        taskId: children[0]?.id ?? "",
      });
      expect(child?.history.flatMap(confirmationsOf)).toHaveLength(1);
      expect(
        done.history
          .flatMap(confirmationsOf)
          .filter(({ toolCallId }) => toolCallId === asked.toolCallId),
      ).toHaveLength(1);
      expect(findToolCall(done, asked.toolCallId)?.status).toBe(
        ToolCallStatus.SUCCEEDED,
      );
      if (by !== "mesh") return;
      // The next message of the conversation names no agent.
      await strike(["above"], 0);
      const { task: next } = await above.sendMessage({
        sessionSettings: { agent: "front" },
        contextId: done.contextId,
        message: {
          ...textMessage(crypto.randomUUID(), "text Again."),
          referenceTaskIds: [id],
        },
      });
      expect(next?.state, next?.error).toBe(TaskState.COMPLETED);
      const { tasks: all } = await below.listTasks({});
      expect(all).toHaveLength(2);
      expect(all[0]?.contextId).toBe(all[1]?.contextId);
    },
  );

  it.each(["cut off", "killed"] as const)(
    "has the task below canceled when that one is back: above killed, below %s",
    async (fate) => {
      const seconds = 600 + random();
      const sleepers = () => processesOf(`sleep\0${seconds}`);
      const script = `run sh -c 'sleep ${seconds} & sleep ${seconds}'`;
      const message = JSON.stringify({ message: script });
      const above = servers.client("above").tasks;
      const { task } = await above.sendMessage({
        message: textMessage(
          crypto.randomUUID(),
          `call agent_helper ${message}`,
        ),
      });
      const { id = "" } = task ?? {};
      await answerWith(id, crypto.randomUUID());
      await until(id, (now) => pendingToolCalls(now)[0]);
      await answerWith(id, crypto.randomUUID());
      await expect.poll(() => sleepers().length).toBeGreaterThanOrEqual(2);
      servers.cutOff("below");
      if (fate === "killed") await servers.end("below");
      await above.cancelTask({ taskId: id });
      await servers.kill(["above"]);
      if (fate === "cut off") {
        expect(sleepers().length).toBeGreaterThanOrEqual(2);
      }
      await servers.restart("below");
      const below = servers.client("below").tasks;
      const states = async () =>
        (await below.listTasks({})).tasks.map(
          ({ lastEvent }) => lastEvent?.state,
        );
      await expect.poll(states).toEqual([TaskState.CANCELED]);
      await expect.poll(sleepers).toEqual([]);
      await expect
        .poll(() =>
          readdirSync(join(base, "above")).filter((name) =>
            name.startsWith("untold"),
          ),
        )
        .toEqual([]);
    },
  );

  async function strike(who: Blow, afterMs: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    if (who !== "connections") return servers.kill(who);
    servers.cutOff("below");
    await servers.restart("below");
  }

  /** Says yes to what the task above asks. */
  async function answerWith(taskId: string, messageId: string): Promise<void> {
    const { tasks } = servers.client("above");
    const { task } = await tasks.getTask({ taskId });
    if (!task) throw new Error("there is no task");
    const parts = pendingToolCalls(task).map((call) =>
      confirmationPart(call, "proceed_once"),
    );
    await tasks.sendMessage({
      message: { messageId, parts },
      taskId,
      returnImmediately: true,
    });
  }

  /**
   * Waits for the end. A turn below that was cut asks whether to go on, as any
   * turn of our agent that a stop cut does.
   */
  async function finish(taskId: string): Promise<Task> {
    for (;;) {
      const rests = await until(taskId, (task) =>
        task.state === TaskState.COMPLETED || pendingToolCalls(task).length > 0
          ? task
          : undefined,
      );
      if (rests.state === TaskState.COMPLETED) return rests;
      const [question] = pendingToolCalls(rests);
      expect(question?.description).toMatch(/^Agent \w+ asks$/);
      await answerWith(taskId, crypto.randomUUID());
    }
  }

  async function until<T>(
    taskId: string,
    look: (task: Task) => T | undefined,
  ): Promise<T> {
    for (;;) {
      signal.throwIfAborted();
      const { task } = await servers.client("above").tasks.getTask({ taskId });
      const found = task && look(task);
      if (found) return found;
      if (
        task &&
        task.state > TaskState.WORKING &&
        task.state !== TaskState.INPUT_REQUIRED
      ) {
        const ended = task.history
          .flatMap(toolCallsOf)
          .map(({ result }) => result);
        throw new Error(
          `${TaskState[task.state]}: ${task.error} ${inspect(ended, { depth: 4 })}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
});
