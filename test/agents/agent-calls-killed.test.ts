import { readdirSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  confirmationsOf,
  type Task,
  TaskState,
  toolCallsOf,
} from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { roundsOf, seedOf } from "../depth.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { generator } from "../json-mutants.ts";
import { processesOf } from "../processes.ts";
import { SteadyAddress } from "./chain/steady-address.ts";

const signal = AbortSignal.timeout(900_000);
/** How many chains have their servers killed. */
const CHAINS = roundsOf("DEVTOOL_CHAINS", { quick: 1, ci: 2, deep: 40 });

const random = generator(seedOf());

/** Who is killed. */
const KILLS = ["both", "above", "below"] as const;

describe("a chain of agents over two servers that are killed", () => {
  let base: string;
  /** Where the server below is, whatever port it has. */
  let address: SteadyAddress;
  let servers: Record<"above" | "below", ServerProcess>;

  beforeEach(async () => {
    base = temporaryDirectory();
    address = await SteadyAddress.open();
    await prepare("below", "");
    const below = await start("below");
    await writeFile(join(base, "token"), below.info.token, { mode: 0o600 });
    await prepare(
      "above",
      `[[agents]]\nmodule = "devtool"\n[[agents]]\nmodule = "front.mesh.yaml"\n[[remote_agents]]\nname = "helper"\nurl = "${address.url}"\ntoken_file = "${join(base, "token")}"\n`,
    );
    const mesh = "agents: [{ name: helper }, { name: devtool }]\n";
    await writeFile(join(base, "above/front.mesh.yaml"), mesh, { mode: 0o600 });
    servers = { above: await start("above"), below };
  });
  afterEach(async () => {
    await Promise.all(Object.values(servers).map((server) => server.kill()));
    await address[Symbol.asyncDispose]();
  });

  it.each(
    (["tool", "mesh"] as const).flatMap((by) =>
      Array.from(
        { length: by === "tool" ? CHAINS : CHAINS / 2 },
        (_, round) => ({
          by,
          round,
          who: KILLS[round % KILLS.length] ?? "both",
        }),
      ),
    ),
  )(
    "have the open question again, and its answer once: by a $by, $who, chain $round",
    async ({ by, who }) => {
      const script = "write below/made.txt made\ntext Made.";
      const message = JSON.stringify({ message: script });
      const { task: begun } = await clientOf(
        servers.above.info,
      ).tasks.sendMessage({
        sessionSettings: { agent: by === "mesh" ? "front" : "devtool" },
        returnImmediately: by === "mesh",
        message: textMessage(
          crypto.randomUUID(),
          by === "mesh" ? `@helper ${script}` : `call agent_helper ${message}`,
        ),
      });
      if (!begun) throw new Error("there is no task");
      const { id } = begun;
      if (by === "tool") await answerWith(id, crypto.randomUUID());
      // The one above is killed at any point of the call's beginning.
      if (who !== "below") await kill("above", random() * 1500);
      const asked = await until(id, (task) =>
        task.state === TaskState.INPUT_REQUIRED &&
        pendingToolCalls(task).length > 0
          ? pendingToolCalls(task)[0]
          : undefined,
      );
      expect(asked.description).toMatch(/^Agent helper → "write_file"/);
      await kill(who, 0);
      const again = await until(id, (task) => pendingToolCalls(task)[0]);
      expect([again.toolCallId, again.shownDigest]).toEqual([
        asked.toolCallId,
        asked.shownDigest,
      ]);
      const answerId = crypto.randomUUID();
      await answerWith(id, answerId);
      await kill(who, random() * 300);
      const done = await finish(id);
      expect(fileText(base, "work/below/made.txt")).toBe("made");
      const { tasks: below } = clientOf(servers.below.info);
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
      if (by === "tool") return;
      // The next message of the conversation names no agent.
      await kill("above", 0);
      const { task: next } = await clientOf(
        servers.above.info,
      ).tasks.sendMessage({
        sessionSettings: { agent: "front" },
        contextId: done.contextId,
        message: {
          ...textMessage(crypto.randomUUID(), "text Again."),
          referenceTaskIds: [id],
        },
      });
      expect(next?.state, next?.error).toBe(TaskState.COMPLETED);
      const { tasks: all } = await clientOf(servers.below.info).tasks.listTasks(
        {},
      );
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
      const { tasks } = clientOf(servers.above.info);
      const { task } = await tasks.sendMessage({
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
      address.lead(undefined);
      if (fate === "killed") await servers.below.kill();
      await tasks.cancelTask({ taskId: id });
      await kill("above", 0);
      if (fate === "killed") {
        servers.below = await start("below");
      } else {
        expect(sleepers().length).toBeGreaterThanOrEqual(2);
        address.lead(servers.below.info.url);
      }
      const below = clientOf(servers.below.info);
      const states = async () =>
        (await below.tasks.listTasks({})).tasks.map(
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

  async function prepare(name: string, config: string): Promise<void> {
    const data = join(base, name);
    await mkdir(data, { mode: 0o700 });
    await mkdir(join(base, "work/below"), { recursive: true });
    await writeFile(join(data, "config.toml"), config, { mode: 0o600 });
  }

  async function start(name: "above" | "below"): Promise<ServerProcess> {
    const server = await startServing([
      ...["--data", join(base, name)],
      ...["--workspace", join(base, "work")],
      ...(name === "below" ? ["--public-url", address.url] : []),
    ]);
    if (name === "below") address.lead(server.info.url);
    return server;
  }

  async function kill(
    who: (typeof KILLS)[number],
    afterMs: number,
  ): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    const killed = who === "both" ? (["above", "below"] as const) : [who];
    await Promise.all(killed.map((name) => servers[name].kill()));
    // The one above is back first and finds nobody below.
    for (const name of killed) servers[name] = await start(name);
  }

  /** Says yes to what the task above asks. */
  async function answerWith(taskId: string, messageId: string): Promise<void> {
    const { tasks } = clientOf(servers.above.info);
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
      expect(question?.description).toBe("Agent helper asks");
      await answerWith(taskId, crypto.randomUUID());
    }
  }

  async function until<T>(
    taskId: string,
    look: (task: Task) => T | undefined,
  ): Promise<T> {
    for (;;) {
      signal.throwIfAborted();
      const { task } = await clientOf(servers.above.info).tasks.getTask({
        taskId,
      });
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
