import { readdirSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  subscribeTask,
  textMessage,
} from "@devtool/client";
import {
  type CodingServerOptions,
  codingAgent,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  emptyTask,
  isTerminal,
  reduceTask,
  type Task,
  TaskState,
  type ToolCall,
} from "@devtool/schema";
import { createServer } from "@devtool/server";
import { beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";

describe("a checkpoint of a server", () => {
  const signal = AbortSignal.timeout(300_000);
  let base: string;
  beforeEach(() => {
    base = temporaryDirectory();
  });

  it("is made before an approved edit, and /restore restores it after a restart", async () => {
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
      expect(await run(client, ["restore", "list"], "")).toMatch(
        /^1 {2}\S+ {2}Change notes.txt$/m,
      );
      const missing = { command: { commandPath: ["restore"], args: "nosuch" } };
      expect(
        (await client.commands.runSlashCommand(missing)).result?.message,
      ).toBe('checkpoint "nosuch" does not exist: see /restore list');
      await run(client, ["restore"], "1");
      expect(await run(client, ["restore", "list"], "")).toMatch(
        /^2 {2}\S+ {2}restore checkpoint 1$/m,
      );
    });
    expect(await readFile(notes, "utf8")).toBe("mine\n");
  });

  it("needs approval to restore a guarded file, also in yolo, and lists the files that change", async () => {
    const workspace = join(base, "workspace");
    await mkdir(workspace);
    for (const name of [".mcp.json", "notes.txt"]) {
      putFile(workspace, name, "{}");
    }
    await withServer(
      async (client) => {
        const { task } = await client.tasks.sendMessage(
          { message: textMessage("m", "write notes.txt its") },
          { signal },
        );
        expect(await questionsOf(client, task?.id ?? "")).toEqual([]);
        expect(await questionsOfRestore(client, "1")).toEqual([]);
        expect(fileText(workspace, "notes.txt")).toBe("{}");
        putFile(workspace, ".mcp.json", "changed");
        expect(await questionsOfRestore(client, "1")).toEqual([
          expect.stringMatching(/\n1 file changes:\n {2}\.mcp\.json$/),
        ]);
        expect(fileText(workspace, ".mcp.json")).toBe("{}");
      },
      { approvalMode: ApprovalMode.YOLO },
    );
  });

  it("goes with the task that made it, of any coding agent of the server, and others stay", async () => {
    const workspace = join(base, "workspace");
    await mkdir(workspace);
    const agent = codingAgent({ approvalMode: ApprovalMode.YOLO });
    await using server = await createServer({
      agents: { one: agent, two: agent },
      workspace,
      dataDirectory: join(base, "data"),
    });
    const client = clientOf(server);
    const taskIds: string[] = [];
    for (const name of ["one", "two", "one"]) {
      const text = `write ${taskIds.length}.txt ${name}`;
      const message = textMessage(crypto.randomUUID(), text);
      const { task } = await client.tasks.sendMessage(
        { message, sessionSettings: { agent: name } },
        { signal },
      );
      expect(task?.state).toBe(TaskState.COMPLETED);
      taskIds.push(task?.id ?? "");
    }
    const listed = async () => {
      const text = await run(client, ["restore", "list"], "");
      return text.match(/^\d+(?= )/gm);
    };
    expect(await listed()).toEqual(["3", "2", "1"]);
    await client.tasks.deleteTask({ taskId: taskIds[1] ?? "" });
    expect(await listed()).toEqual(["3", "1"]);
    const { result } = await client.commands.runSlashCommand(
      { command: { commandPath: ["restore"], args: "3" } },
      { signal },
    );
    const taskId = result?.executionId ?? "";
    await play(client, taskId);
    expect(readdirSync(workspace)).toEqual(["0.txt", "1.txt"]);
    expect(await listed()).toEqual(["4", "3", "1"]);
    // The command is a task, too.
    await client.tasks.deleteTask({ taskId });
    expect(await listed()).toEqual(["3", "1"]);
  });

  async function questionsOfRestore(
    client: DevtoolClient,
    checkpoint: string,
  ): Promise<string[]> {
    const command = { commandPath: ["restore"], args: checkpoint };
    const { result } = await client.commands.runSlashCommand(
      { command },
      { signal },
    );
    return questionsOf(client, result?.executionId ?? "");
  }

  /** Runs a task to its end, and returns the text of each approval request. */
  async function questionsOf(
    client: DevtoolClient,
    taskId: string,
  ): Promise<string[]> {
    const questions: string[] = [];
    await play(client, taskId, (call) => {
      const details = call.confirmationRequest?.details;
      if (details?.case === "genericDetails") {
        questions.push(details.value.description);
      }
    });
    return questions;
  }

  async function withServer(
    use: (client: DevtoolClient) => Promise<void>,
    options: Pick<CodingServerOptions, "approvalMode"> = {},
  ): Promise<void> {
    await using server = await serveCodingAgent({
      ...options,
      workspace: join(base, "workspace"),
      dataDirectory: join(base, "data"),
    });
    await use(clientOf(server));
  }

  /** Runs a slash command, approves each call, and returns its text. */
  async function run(
    client: DevtoolClient,
    commandPath: string[],
    args: string,
  ): Promise<string> {
    const { result } = await client.commands.runSlashCommand(
      { command: { commandPath, args } },
      { signal },
    );
    const { history } = await play(client, result?.executionId ?? "");
    const contents = history.flatMap(({ parts }) =>
      parts.map(({ content }) => content),
    );
    return contents
      .map((content) => (content.case === "text" ? content.value : ""))
      .join("");
  }

  /** Follows a task to its end and approves each call. */
  async function play(
    client: DevtoolClient,
    taskId: string,
    onQuestion: (call: ToolCall) => void = () => undefined,
  ): Promise<Task> {
    let task = emptyTask();
    for await (const event of subscribeTask(client, { taskId }, signal)) {
      task = reduceTask(task, event);
      if (isTerminal(task.state)) break;
      const parts = pendingToolCalls(task).map((call) =>
        confirmationPart(call, "proceed_once"),
      );
      if (task.state !== TaskState.INPUT_REQUIRED || parts.length === 0) {
        continue;
      }
      pendingToolCalls(task).forEach(onQuestion);
      await client.tasks.sendMessage(
        { taskId, message: { messageId: crypto.randomUUID(), parts } },
        { signal },
      );
    }
    return task;
  }
});
