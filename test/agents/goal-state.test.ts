import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { runCommand } from "@devtool/cli/testing";
import { type DevtoolClient, textMessage } from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  GoalState,
  isAtRest,
  type Task,
  TaskState,
} from "@devtool/schema";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import { describe, expect, it } from "vitest";
import { CLIENTS, clientOf } from "../client-of.ts";
import { firstText, taskOf } from "../tasks.ts";

/**
 * An agent of somebody else, which adds a line to a file in each turn. A turn
 * does not end while the workspace has a file `hold`, and fails with `fail`.
 */
const worker: Agent = {
  about: { name: "Worker", description: "Writes a line in each turn." },
  open: () => ({
    createExecutor: () => ({
      async *execute({ task }, signal) {
        const workspace = task.settings?.workspacePath ?? "";
        const lines = `${textIn(workspace, "lines.txt")}line\n`;
        putFile(workspace, "lines.txt", lines);
        while (existsSync(join(workspace, "hold"))) {
          await delay(10, undefined, { signal });
        }
        if (existsSync(join(workspace, "fail"))) throw new Error("ill");
        yield { case: "text", value: "wrote a line" };
      },
    }),
  }),
};

const { ACTIVE, PAUSED, ACHIEVED } = GoalState;
/** Passes once the file has three lines, and says in `checked` that it ran. */
const THREE_LINES = "echo x >> checked; wc -l < lines.txt | grep -x 3";

describe("the goal of a task", () => {
  it("is paused while its agent works, also over a restart, and goes on when it is resumed", async () => {
    const place = newPlace();
    let taskId: string;
    {
      await using server = await serve(place);
      const client = clientOf(server);
      taskId = await begin(client, place);
      const { task } = await client.tasks.setGoalState({
        taskId,
        state: PAUSED,
      });
      expect(task?.goalProgress?.state).toBe(PAUSED);
      release(place);
      const paused = await atRest(client, taskId);
      expect([paused.state, paused.stateText]).toEqual([
        TaskState.INPUT_REQUIRED,
        "The goal is paused. Resume it to go on.",
      ]);
      expect(textIn(place.workspace, "checked")).toBe("");
    }
    await using server = await serve(place);
    const client = clientOf(server);
    const { goalProgress } = await taskOf(client, taskId);
    expect(goalProgress?.state).toBe(PAUSED);
    // The turns of other messages are not checked.
    await client.tasks.sendMessage({
      message: textMessage("between", "work"),
      taskId,
    });
    expect(textIn(place.workspace, "lines.txt")).toBe("line\nline\n");
    expect(textIn(place.workspace, "checked")).toBe("");
    await client.tasks.setGoalState({ taskId, state: ACTIVE });
    const ended = await atRest(client, taskId);
    expect(ended.goalProgress).toMatchObject({ state: ACHIEVED, turns: 1 });
    expect(ended.state).toBe(TaskState.COMPLETED);
  });

  it("is paused while its checks run, which still count", async () => {
    const place = newPlace();
    await using server = await serve(place);
    const client = clientOf(server);
    const held = "while test -e held; do sleep 0.02; done";
    putFile(place.workspace, "held", "");
    const taskId = await begin(client, place, [
      `echo x >> checked; ${held}; false`,
    ]);
    release(place);
    await expect.poll(() => textIn(place.workspace, "checked")).toBe("x\n");
    await client.tasks.setGoalState({ taskId, state: PAUSED });
    rmSync(join(place.workspace, "held"));
    const paused = await atRest(client, taskId);
    expect(paused.state).toBe(TaskState.INPUT_REQUIRED);
    expect(paused.goalProgress).toMatchObject({ state: PAUSED, turns: 1 });
  });

  it("stays paused when its agent fails, and says both", async () => {
    const place = newPlace();
    await using server = await serve(place);
    const client = clientOf(server);
    const taskId = await begin(client, place);
    putFile(place.workspace, "fail", "");
    await client.tasks.setGoalState({ taskId, state: PAUSED });
    release(place);
    const failed = await atRest(client, taskId);
    expect([failed.state, failed.stateText]).toEqual([
      TaskState.INPUT_REQUIRED,
      "The turn failed: internal error: the server's log says more. The goal is paused. Resume it to go on.",
    ]);
    rmSync(join(place.workspace, "fail"));
    await client.tasks.setGoalState({ taskId, state: ACTIVE });
    const ended = await atRest(client, taskId);
    expect(ended.goalProgress?.state).toBe(ACHIEVED);
  });

  it("is paused also where it needs its user, and says so", async () => {
    const place = newPlace();
    await using server = await serve(place);
    const client = clientOf(server);
    putFile(place.workspace, "fail", "");
    const taskId = await begin(client, place);
    release(place);
    expect((await atRest(client, taskId)).stateText).toContain("needs you");
    const { task } = await client.tasks.setGoalState({ taskId, state: PAUSED });
    expect(task?.stateText).toBe("The goal is paused. Resume it to go on.");
  });

  it("goes on by itself when it is resumed before its turn has ended", async () => {
    const place = newPlace();
    await using server = await serve(place);
    const client = clientOf(server);
    const taskId = await begin(client, place);
    for (const state of [PAUSED, ACTIVE, ACTIVE]) {
      await client.tasks.setGoalState({ taskId, state });
    }
    release(place);
    const { goalProgress } = await atRest(client, taskId);
    expect(goalProgress).toMatchObject({ state: ACHIEVED, turns: 3 });
  });

  it("is replaced by that of a message while its agent works", async () => {
    const place = newPlace();
    await using server = await serve(place);
    const client = clientOf(server);
    const taskId = await begin(client, place, ["false"]);
    await client.tasks.sendMessage({
      message: textMessage("edit", "work"),
      taskId,
      messageSettings: { goal: { checks: [THREE_LINES] } },
      returnImmediately: true,
    });
    release(place);
    const { goal, goalProgress } = await atRest(client, taskId);
    expect(goal?.checks).toEqual([THREE_LINES]);
    expect(goalProgress?.state).toBe(ACHIEVED);
  });

  it("does not change where there is none that goes on, and says why", async () => {
    const place = newPlace();
    await using server = await serve(place);
    const client = clientOf(server);
    const message = textMessage("plain", "work");
    const { task: { id: taskId = "" } = {} } = await client.tasks.sendMessage({
      message,
    });
    const set = (state: GoalState, id = taskId) =>
      client.tasks.setGoalState({ taskId: id, state });
    await expect(set(PAUSED)).rejects.toThrow(
      `[failed_precondition] task "${taskId}" has no goal: send a message with a goal`,
    );
    await expect(set(ACHIEVED)).rejects.toThrow(
      '[invalid_argument] state "GOAL_STATE_ACHIEVED" cannot be chosen: send GOAL_STATE_ACTIVE or GOAL_STATE_PAUSED',
    );
    await expect(set(PAUSED, "other")).rejects.toThrow("[not_found]");
    await client.tasks.sendMessage({
      message: textMessage("goal", "work"),
      taskId,
      messageSettings: { goal: { checks: ["true"] } },
    });
    await expect(set(ACTIVE)).rejects.toThrow(
      `task "${taskId}" has a goal that is achieved`,
    );
  });
});

describe("/goal", () => {
  // A2A 1.0 has no commands over gRPC.
  const clients = Object.entries(CLIENTS).filter(
    ([name]) => name !== "A2A 1.0 over gRPC",
  );

  it.each(clients)(
    "sets, shows, pauses and resumes the goal of a conversation, over %s",
    async (name, connect) => {
      const place = newPlace();
      await using server = await serve(place);
      const client = connect(server);
      putFile(place.workspace, "hold", "");
      const contextId = `c-${name}`;
      const set = `Write lines. --check "${THREE_LINES}" --max-turns 5`;
      const run = (args: string, ...words: readonly string[]) =>
        command(client, contextId, ["goal", ...words], args);
      expect(await run(set)).toBe(`The goal is set. Checks: "${THREE_LINES}".`);
      expect(await run("")).toBe(
        "The agent works for the goal. No check has run yet.",
      );
      expect(await run("", "pause")).toBe(
        "The goal is paused. Resume it to go on.",
      );
      release(place);
      const taskId = await taskWithGoal(clientOf(server), contextId);
      const paused = await atRest(clientOf(server), taskId);
      expect(paused.goal).toMatchObject({ checks: [THREE_LINES], maxTurns: 5 });
      expect(firstText(paused.history[0])).toBe("Write lines.");
      await run("", "resume");
      const ended = await atRest(clientOf(server), taskId);
      expect(ended.goalProgress?.state).toBe(ACHIEVED);
    },
  );

  it("begins a conversation in a chat, which goes on with its task", async () => {
    const place = newPlace();
    await using server = await serve(place);
    await clientOf(server).tasks.sendMessage({
      message: textMessage("other", "work"),
      contextId: "another",
    });
    const flags = ["--url", server.url, "--token", server.token];
    const wrong = await runCommand(["chat", ...flags], {
      stdin: "/goal Write lines.\n",
    });
    expect([wrong.err, wrong.out]).toEqual([
      expect.stringContaining("names no check: write /goal OBJECTIVE"),
      expect.not.stringContaining("wrote a line"),
    ]);
    const stdin = `/goal Write lines. --check "${THREE_LINES}"\n/goal\nmore\n`;
    const { out } = await runCommand(["chat", ...flags], { stdin });
    // The other task wrote the first line.
    const achieved = out.match(/The goal is achieved after 2 of 20 turns/g);
    expect(achieved?.length).toBe(2);
    expect(textIn(place.workspace, "lines.txt").match(/line/g)?.length).toBe(4);
    const { tasks } = await clientOf(server).tasks.listTasks({});
    // The other one, that with the goal, and two executions of the command.
    expect(tasks.length).toBe(4);
  });

  it("is listed, and does not start for what it cannot read", async () => {
    const place = newPlace();
    await using server = await serve(place);
    const client = clientOf(server);
    const { commands } = await client.commands.getAllSlashCommands({});
    expect(commands.find(({ name }) => name === "goal")).toMatchObject({
      subCommands: [{ name: "pause" }, { name: "resume" }],
    });
    const usage = /: write \/goal OBJECTIVE --check "COMMAND"/;
    for (const args of [
      "Write lines.",
      '--check "true"',
      "Write lines. --check npm test",
      'Write lines. --check "true" --max-turns many',
      'Write lines. --check "true" --max-turns 1.5',
      'Write lines. --check "true" --max-turns 1001',
      'Write lines. --check "true" --max-cost 0',
      "Write lines. --max-turns 3",
    ]) {
      await expect(command(client, "c", ["goal"], args)).rejects.toThrow(usage);
    }
    await expect(command(client, "c", ["goal"], "")).rejects.toThrow(
      /this conversation has no goal/,
    );
    const many = `Write lines. ${'--check "true" '.repeat(9)}`;
    await expect(command(client, "c", ["goal"], many)).rejects.toThrow(
      'message_settings.goal.checks "9" are not 1 to 8 commands',
    );
  });
});

interface Place {
  readonly workspace: string;
  readonly dataDirectory: string;
}

function newPlace(): Place {
  const base = temporaryDirectory();
  const workspace = join(base, "work");
  putFile(workspace, "README.md", "");
  return { workspace, dataDirectory: join(base, "data") };
}

/** Serves the worker beside the coding agent, which runs its checks. */
function serve(place: Place): Promise<DevtoolServer> {
  const approvalMode = ApprovalMode.YOLO;
  return createServer({
    ...place,
    agents: { worker, devtool: codingAgent({ approvalMode }) },
  });
}

/** Begins a task with a goal, whose first turn lasts until `release`. */
async function begin(
  client: DevtoolClient,
  { workspace }: Place,
  checks: string[] = [THREE_LINES],
): Promise<string> {
  putFile(workspace, "hold", "");
  const { task } = await client.tasks.sendMessage({
    message: textMessage("begin", "work"),
    messageSettings: { goal: { checks } },
    returnImmediately: true,
  });
  await expect.poll(() => textIn(workspace, "lines.txt")).toBe("line\n");
  return task?.id ?? "";
}

function release({ workspace }: Place): void {
  rmSync(join(workspace, "hold"));
}

/** Returns the id of the task of a conversation that has a goal. */
async function taskWithGoal(
  client: DevtoolClient,
  contextId: string,
): Promise<string> {
  const { tasks } = await client.tasks.listTasks({ contextId });
  const found = await Promise.all(tasks.map(({ id }) => taskOf(client, id)));
  return found.find(({ goal }) => goal !== undefined)?.id ?? "";
}

/** Waits until a task rests, and returns it. */
async function atRest(client: DevtoolClient, taskId: string): Promise<Task> {
  await expect
    .poll(async () => isAtRest((await taskOf(client, taskId)).state))
    .toBe(true);
  return taskOf(client, taskId);
}

/** Runs a slash command, and returns what it said. Rejects when it fails. */
async function command(
  client: DevtoolClient,
  contextId: string,
  commandPath: string[],
  args: string,
): Promise<string> {
  const { result } = await client.commands.runSlashCommand({
    command: { commandPath, args },
    contextId,
  });
  if (!result?.executionId) throw new Error(result?.message);
  const { state, error, history } = await atRest(client, result.executionId);
  if (state !== TaskState.COMPLETED) throw new Error(error);
  return history.map(firstText).join("");
}

/** Returns the text of a file; empty where there is none. */
function textIn(...path: readonly string[]): string {
  const file = join(...path);
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}
