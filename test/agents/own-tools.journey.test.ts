import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import {
  confirmationPart,
  modifiedArgumentsPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import {
  helpCommand,
  replyWith,
  SlashCommands,
} from "@devtool/coding-agent/commands";
import {
  checkToolArguments,
  readFileTool,
  runTools,
  settleEdit,
  Workspace,
  writeFileTool,
} from "@devtool/coding-agent/tools";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createPolicyEngine } from "@devtool/policy";
import { OPTION_PROCEED_ONCE, TaskState, toolCallsOf } from "@devtool/schema";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";

/**
 * A third-party agent that reads one file and writes another, with the coding
 * agent's tools and policy.
 */
function copying(workspacePath: string): Agent {
  const policy = createPolicyEngine({
    workspace: workspacePath,
    shellConfinement: "none",
  });
  const greet = {
    path: ["greet"],
    description: "Greets.",
    arguments: [],
    play: () => replyWith(() => "Hello."),
  };
  return {
    about: { name: "copier", description: "Copies a file." },
    open: ({ nextId }) => ({
      commands: new SlashCommands([helpCommand([greet]), greet]),
      createExecutor: () => ({
        async checkArguments(edit, signal) {
          using workspace = new Workspace(workspacePath);
          const tools = [readFileTool(workspace), writeFileTool(workspace)];
          await checkToolArguments(edit, { tools, policy, nextId }, signal);
        },
        async *execute(turn, signal) {
          using workspace = new Workspace(workspacePath);
          const tools = [readFileTool(workspace), writeFileTool(workspace)];
          const options = {
            tools,
            policy,
            nextId,
            settle: (edit: Parameters<typeof settleEdit>[1]) =>
              settleEdit(workspace, edit),
          };
          const calls = [
            { name: "read_file", args: { file_path: "a.txt" } },
            {
              name: "write_file",
              args: { file_path: "b.txt", content: "copied" },
            },
            { name: "run_shell_command", args: { command: "ls" } },
          ];
          yield* runTools(
            turn,
            options,
            turn.news.message ? calls : [],
            signal,
          );
          yield* turn.say("Copied.");
        },
      }),
    }),
  };
}

describe("the coding agent's tools and commands in a third-party agent", () => {
  let base: string;
  let server: DevtoolServer;
  beforeEach(async () => {
    base = temporaryDirectory();
    await start();
    putFile(base, "work/a.txt", "original");
  });
  afterEach(() => server.close());

  it("need approval under the policy, run after a restart, and are only those that the agent selected", async () => {
    const { task: asked } = await tasks().sendMessage({
      message: textMessage("m", "go"),
    });
    if (!asked) throw new Error("there is no task");
    const [question, ...others] = pendingToolCalls(asked);
    expect([question?.toolName, others]).toEqual(["write_file", []]);
    await server.close();
    await start();
    const parts = question
      ? [confirmationPart(question, OPTION_PROCEED_ONCE)]
      : [];
    await tasks().sendMessage({
      message: { ...textMessage("a", ""), parts },
      taskId: asked.id,
    });
    const { task: ended } = await tasks().getTask({ taskId: asked.id });
    expect([ended?.state, fileText(base, "work/b.txt")]).toEqual([
      TaskState.COMPLETED,
      "copied",
    ]);
    const calls = ended?.history.flatMap(toolCallsOf) ?? [];
    expect(
      calls.map(({ result }) => result.value?.$typeName.split(".").at(-1)),
    ).toEqual(["ToolOutput", "ToolOutput", "ErrorDetails"]);
  });

  it("take other arguments of the user, once they are checked", async () => {
    const { task: asked } = await tasks().sendMessage({
      message: textMessage("m", "go"),
    });
    const answer = async (id: string, args: JsonObject) => {
      const { task } = await tasks().getTask({ taskId: asked?.id ?? "" });
      const parts = task
        ? pendingToolCalls(task).map((call) =>
            modifiedArgumentsPart(call, args),
          )
        : [];
      return tasks().sendMessage({
        message: { ...textMessage(id, ""), parts },
        taskId: asked?.id ?? "",
      });
    };
    await expect(
      answer("a", { file_path: "/etc/passwd", content: "" }),
    ).rejects.toThrow("is outside");
    const { task: again } = await answer("b", {
      file_path: "c.txt",
      content: "mine",
    });
    const parts = again
      ? pendingToolCalls(again).map((call) =>
          confirmationPart(call, OPTION_PROCEED_ONCE),
        )
      : [];
    await tasks().sendMessage({
      message: { ...textMessage("c", ""), parts },
      taskId: asked?.id ?? "",
    });
    expect(fileText(base, "work/c.txt")).toBe("mine");
  });

  it("are listed as its commands", async () => {
    const { commands } = await clientOf(server).commands.getAllSlashCommands(
      {},
    );
    expect(commands.map(({ name }) => name)).toEqual(["help", "greet"]);
  });

  async function start(): Promise<void> {
    const workspace = join(base, "work");
    await mkdir(workspace, { recursive: true });
    server = await createServer({
      agents: { copier: copying(workspace) },
      workspace,
      dataDirectory: join(base, "data"),
    });
  }

  function tasks() {
    return clientOf(server).tasks;
  }
});
