import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  confirmationPart,
  createDevtoolClient,
  type DevtoolClient,
  pendingToolCalls,
  subscribeTask,
  textMessage,
} from "@devtool/client";
import { emptyTask, isTerminal, reduceTask, type Task, TaskState } from "@devtool/schema";
import { createServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

describe("a checkpoint of a server", () => {
  const signal = AbortSignal.timeout(60_000);
  let base: string;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), "devtool-restore-"));
  });
  afterEach(() => rm(base, { recursive: true, force: true }));

  it("is made before an approved edit, and /restore goes back to it after a restart", async () => {
    const workspace = join(base, "workspace");
    await mkdir(workspace);
    const notes = join(workspace, "notes.txt");
    await writeFile(notes, "mine\n");
    await withServer(async (client) => {
      const message = textMessage("m", "edit notes.txt mine => its");
      const { task } = await client.tasks.sendMessage({ message }, { signal });
      await play(client, task?.id ?? "");
    });
    expect(await readFile(notes, "utf8")).toBe("its\n");
    await withServer(async (client) => {
      expect(await run(client, ["restore", "list"], "")).toMatch(/^1 {2}\S+ {2}Change notes.txt$/m);
      await run(client, ["restore"], "1");
      expect(await run(client, ["restore", "list"], "")).toMatch(/^2 {2}\S+ {2}restore checkpoint 1$/m);
    });
    expect(await readFile(notes, "utf8")).toBe("mine\n");
  });

  async function withServer(use: (client: DevtoolClient) => Promise<void>): Promise<void> {
    await using server = await createServer({ workspace: join(base, "workspace"), dataDirectory: join(base, "data") });
    const interceptors = [bearerInterceptor(server.token)];
    await use(createDevtoolClient(createConnectTransport({ baseUrl: server.url, httpVersion: "1.1", interceptors })));
  }

  /** Runs a slash command with a yes to each question, and gives all that it says. */
  async function run(client: DevtoolClient, commandPath: string[], args: string): Promise<string> {
    const { result } = await client.commands.runSlashCommand({ command: { commandPath, args } }, { signal });
    const { history } = await play(client, result?.executionId ?? "");
    const contents = history.flatMap(({ parts }) => parts.map(({ content }) => content));
    return contents.map((content) => (content.case === "text" ? content.value : "")).join("");
  }

  /** Follows a task to its end and says yes to what it asks. */
  async function play(client: DevtoolClient, taskId: string): Promise<Task> {
    let task = emptyTask();
    for await (const event of subscribeTask(client, { taskId }, signal)) {
      task = reduceTask(task, event);
      if (isTerminal(task.state)) break;
      const parts = pendingToolCalls(task).map((call) => confirmationPart(call, "proceed_once"));
      if (task.state !== TaskState.INPUT_REQUIRED || parts.length === 0) continue;
      await client.tasks.sendMessage({ taskId, message: { messageId: crypto.randomUUID(), parts } }, { signal });
    }
    return task;
  }
});
