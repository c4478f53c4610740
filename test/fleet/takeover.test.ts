import { spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  GoalState,
  OPTION_PROCEED_ONCE,
  type TaskEvent,
  TaskState,
  toolCallsOf,
} from "@devtool/schema";
import { afterEach, beforeEach, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { MAIN } from "../our-command.ts";
import { approve, streamedText } from "../tasks.ts";
import { describeWithPostgres } from "./with-postgres.ts";

const LIMIT_MS = 120_000;
/**
 * The lease of each server in seconds: a busy machine stops one for longer than
 * the three of the default, and its task would move before it is killed.
 */
const LEASE_S = 10;
const PAYMENTS = fileURLToPath(
  new URL("../mcp/payment-server.ts", import.meta.url),
);
const TYPED = [
  "--experimental-transform-types",
  "--disable-warning=ExperimentalWarning",
];

/** A script that pays by the MCP server that a later message brings. */
const pay = (to: string): string =>
  `call mcp__late__pay ${JSON.stringify({ to, amount: 7 })}\ntext Paid.`;

describeWithPostgres("devtool serve --store", (database) => {
  let base: string;
  const servers: ServerProcess[] = [];
  let schemas = 0;
  beforeEach(async () => {
    base = temporaryDirectory();
    await mkdir(join(base, "work"));
    await writeFile(
      join(base, "token"),
      "one-token-for-all-servers-of-32-characters",
      { mode: 0o600 },
    );
    schemas++;
  });
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.kill();
  });

  /** Starts a server on the database, with a data directory of its own. */
  async function start(
    more: readonly string[] = [],
    config = "",
  ): Promise<ServerProcess> {
    const data = join(base, `data-${servers.length}`);
    await mkdir(data, { mode: 0o700 });
    await writeFile(
      join(data, "config.toml"),
      `${config}[store]\nurl = "${database.url}"\nschema = "takeover_${schemas}"\nlease = "${LEASE_S}s"\n`,
    );
    const flags = [
      "--data",
      data,
      "--workspace",
      join(base, "work"),
      "--token-file",
      join(base, "token"),
      ...more,
    ];
    const server = await startServing(flags);
    servers.push(server);
    return server;
  }

  it("hands a task that asks to another server when its own is killed, which runs the call once it is approved", async () => {
    const [one, other] = [await start(), await start()];
    const first = await clientOf(one.info, "2").tasks.sendMessage({
      message: textMessage("m1", "write asked.txt answered"),
    });
    expect(first.task?.state).toBe(TaskState.INPUT_REQUIRED);
    await one.kill();
    const taskId = first.task?.id ?? "";
    await takenOver(taskId);
    const { task } = await clientOf(other.info, "2").tasks.getTask({ taskId });
    const [asking] = task ? pendingToolCalls(task) : [];
    if (!asking) throw new Error("nothing is asked");
    const parts = [confirmationPart(asking, OPTION_PROCEED_ONCE)];
    const answered = await clientOf(other.info, "2").tasks.sendMessage({
      message: { ...textMessage("m2", ""), parts },
      taskId,
    });
    expect(answered.task?.state).toBe(TaskState.COMPLETED);
    expect(await readFile(join(base, "work", "asked.txt"), "utf8")).toBe(
      "answered",
    );
  });

  it("asks for a call of an MCP server that a later message brought, runs it once, and has that server in the next turn", async () => {
    const config = 'client_mcp_servers = "all"\n';
    const [one, other] = [await start([], config), await start([], config)];
    const payments = join(base, "payments");
    const value = {
      command: process.execPath,
      args: [...TYPED, PAYMENTS],
      env: { PAYMENTS: payments },
    };
    const mcpServers = [
      { name: "late", transport: { case: "stdio" as const, value } },
    ];
    const client = clientOf(other.info, "2");
    const say = async (
      place: ServerProcess,
      text: string,
      more: { taskId?: string; mcpServers?: typeof mcpServers } = {},
    ) => {
      const { taskId = "", mcpServers: brought = [] } = more;
      const { task } = await clientOf(place.info, "2").tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), text),
        taskId,
        sessionSettings: { mcpServers: brought },
      });
      if (!task) throw new Error("there is no task");
      return task;
    };
    const { id: taskId } = await say(one, "text Hi.");
    const asked = await say(one, pay("ada"), { taskId, mcpServers });
    expect(pendingToolCalls(asked)).toHaveLength(1);
    await one.kill();
    await takenOver(taskId);
    expect((await approve(client, asked)).state).toBe(TaskState.COMPLETED);
    const next = await say(other, pay("bob"), { taskId });
    expect((await approve(client, next)).state).toBe(TaskState.COMPLETED);
    expect(await readFile(payments, "utf8")).toBe(
      '{"to":"ada","amount":7}\n{"to":"bob","amount":7}\n',
    );
  });

  it("goes on with a goal of a server that is killed in the second turn, and runs no check twice", async () => {
    const mode = ["--approval-mode", "yolo"];
    const [one, other] = [await start(mode), await start(mode)];
    const check =
      "echo x >> checked; test $(wc -l < checked) -ge 3 || { wc -l < checked | tr 0-9 a-j; false; }";
    const begun = await clientOf(one.info, "2").tasks.sendMessage({
      message: textMessage(
        "m1",
        "run echo line >> lines\nwait 2000\ntext done",
      ),
      messageSettings: { goal: { checks: [check], maxTurns: 10 } },
      returnImmediately: true,
    });
    const taskId = begun.task?.id ?? "";
    const linesIn = async (file: string): Promise<number> =>
      (await readFile(join(base, "work", file), "utf8").catch(() => "")).split(
        "\n",
      ).length - 1;
    await expect
      .poll(() => linesIn("lines"), { timeout: LIMIT_MS, interval: 20 })
      .toBe(2);
    await one.kill();
    await takenOver(taskId);
    const get = async () =>
      (await clientOf(other.info, "2").tasks.getTask({ taskId })).task;
    await expect
      .poll(async () => (await get())?.goalProgress, { timeout: LIMIT_MS })
      .toMatchObject({ state: GoalState.ACHIEVED });
    const calls = (await get())?.history.flatMap(toolCallsOf) ?? [];
    const checks = calls.filter(({ toolCallId }) =>
      toolCallId.startsWith("check-"),
    );
    expect(await linesIn("checked")).toBe(3);
    expect(checks).toHaveLength(3);
    expect(await linesIn("lines")).toBe(calls.length - checks.length);
  });

  it("goes on with a task of a server that is stopped, and keeps nothing that this one writes when it goes on", async () => {
    const [zombie, other] = [await start(), await start()];
    const prompt = "say 3\nwait 600000";
    const begun = await clientOf(zombie.info, "2").tasks.sendMessage({
      message: textMessage("m1", prompt),
      returnImmediately: true,
    });
    const taskId = begun.task?.id ?? "";
    const seen: TaskEvent[] = [];
    const signal = AbortSignal.timeout(LIMIT_MS);
    let stopped = false;
    for await (const { event } of clientOf(other.info, "2").tasks.subscribeTask(
      { taskId },
      { signal },
    )) {
      if (event) seen.push(event);
      if (!stopped && streamedText(seen).includes("chunk 3")) {
        stopped = true;
        process.kill(zombie.info.pid, "SIGSTOP");
      }
      if (event && event.state > TaskState.WORKING) break;
    }
    const next = await clientOf(other.info, "2").tasks.sendMessage({
      message: textMessage("m2", "text Here."),
      taskId,
    });
    expect(next.task?.state).toBe(TaskState.COMPLETED);
    process.kill(zombie.info.pid, "SIGCONT");
    // The zombie answers with the log of the other server, and its own run has
    // ended.
    const { task } = await clientOf(zombie.info, "2").tasks.getTask({ taskId });
    expect([task?.state, task?.sequence]).toEqual([
      TaskState.COMPLETED,
      next.task?.sequence,
    ]);
    const rest: TaskEvent[] = [];
    for await (const { event } of clientOf(
      zombie.info,
      "2",
    ).tasks.subscribeTask({ taskId }, { signal })) {
      if (event) rest.push(event);
    }
    expect(rest.map(({ sequence }) => Number(sequence))).toEqual(
      rest.map((_, index) => index + 1),
    );
    expect(rest.slice(0, seen.length)).toEqual(seen);
  });

  it("does not start without its database, and says what to do", async () => {
    const data = join(base, "data");
    const url = "postgres://devtool:secret@127.0.0.1:1/devtool";
    const flags = [
      "--port",
      "0",
      "--data",
      data,
      "--workspace",
      join(base, "work"),
      "--store",
      url,
    ];
    const { status, stderr } = spawnSync(
      process.execPath,
      [MAIN, "serve", ...flags],
      { encoding: "utf8" },
    );
    expect(status).toBe(1);
    expect(stderr).toContain(
      "PostgreSQL at 127.0.0.1:1/devtool refuses connections: start PostgreSQL",
    );
    expect(stderr).not.toContain("secret");
  });

  /**
   * Waits until a task belongs to a server that has renewed its lease since
   * another one was killed, which renews none.
   */
  async function takenOver(taskId: string): Promise<void> {
    const began = performance.now();
    const [{ killed = "" } = {}] = await database.run(
      "SELECT clock_timestamp()::text AS killed",
    );
    const schema = `takeover_${schemas}`;
    const owners = () =>
      database.run(
        `SELECT replica.id FROM ${schema}.task JOIN ${schema}.replica ON replica.id = task.owner
        WHERE task.id = '${taskId}' AND alive_until > '${killed}'::timestamptz + interval '${LEASE_S} s'`,
      );
    await expect
      .poll(owners, { timeout: LIMIT_MS, interval: 20 })
      .toHaveLength(1);
    console.info(
      `taken over after ${Math.round(performance.now() - began)} ms`,
    );
  }
});
