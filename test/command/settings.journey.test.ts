import { existsSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import {
  createDevtoolClient,
  type DevtoolClient,
  subscribeTask,
  textMessage,
} from "@devtool/client";
import { createGeminiCliTransport } from "@devtool/client/gemini-cli";
import { codingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  CommandExecutionStatus,
  emptyTask,
  isTerminal,
  reduceTask,
  SlashCommandSchema,
  type Task,
} from "@devtool/schema";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLIENTS } from "../client-of.ts";

describe("the settings of a slash command that begins a conversation", () => {
  let workspace: string;
  let elsewhere: string;
  let server: DevtoolServer;

  beforeAll(async () => {
    workspace = temporaryDirectory();
    elsewhere = temporaryDirectory();
    const approvalMode = ApprovalMode.YOLO;
    server = await createServer({
      agents: {
        devtool: codingAgent({ approvalMode, sandbox: "none" }),
        greeter,
        careful: codingAgent({
          approvalMode: ApprovalMode.DEFAULT,
          sandbox: "none",
        }),
      },
      workspace,
      workspaceRoots: [workspace, elsewhere],
    });
  });
  afterAll(() => server.close());

  describe.each([
    "Connect",
    "A2A 0.3 over JSON-RPC",
    "A2A 0.3 over HTTP+JSON",
    "A2A 1.0 over JSON-RPC",
    "A2A 1.0 over HTTP+JSON",
  ] as const)("over %s", (name) => {
    it("list the commands of the agent, for the directory", async () => {
      const { commands } = CLIENTS[name](server);
      const listed = await commands.getAllSlashCommands({
        settings: { workspacePath: elsewhere },
        sessionSettings: { agent: "greeter" },
      });
      expect(
        listed.commands.map(({ name, description }) => [name, description]),
      ).toEqual([
        ["greet", elsewhere],
        ["goal", expect.stringContaining("until commands pass")],
      ]);
    });

    it("name the agents there are when there is no such agent", async () => {
      const { commands } = CLIENTS[name](server);
      const listed = commands.getAllSlashCommands({
        sessionSettings: { agent: "nobody" },
      });
      await expect(listed).rejects.toThrow(/nobody.*devtool, greeter/);
    });

    it("choose the model of a command in a conversation, and of that command alone", async () => {
      const client = CLIENTS[name](server);
      const say = async (contextId: string, model: string): Promise<Task> => {
        const message = textMessage(crypto.randomUUID(), "Hello.");
        const sessionSettings = { agent: "greeter", model };
        const { task } = await client.tasks.sendMessage({
          message,
          contextId,
          sessionSettings,
        });
        return task ?? emptyTask();
      };
      const first = await say("", "small");
      const { result } = await client.commands.runSlashCommand({
        command: { commandPath: ["greet"] },
        contextId: first.contextId,
        sessionSettings: { model: "large" },
      });
      const ran = await ended(client, result?.executionId ?? "");
      const second = await say(first.contextId, "");
      expect([first, ran, second].map(textOf)).toEqual([
        "by small",
        "by large",
        "by small",
      ]);
    });

    it("do not let it skip a question that the operator wants, at first or later", async () => {
      const { commands, tasks } = CLIENTS[name](server);
      const command = { commandPath: ["shell"], args: "touch unasked.txt" };
      const run = async (
        contextId: string,
        approvalMode: ApprovalMode,
      ): Promise<string> => {
        const sessionSettings = { agent: "careful", approvalMode };
        const { result } = await commands.runSlashCommand({
          command,
          contextId,
          sessionSettings,
        });
        expect(result?.status).toBe(
          CommandExecutionStatus.AWAITING_SHELL_CONFIRMATION,
        );
        const { task } = await tasks.getTask({
          taskId: result?.executionId ?? "",
        });
        return task?.contextId ?? "";
      };
      const contextId = await run("", ApprovalMode.YOLO);
      await run(contextId, ApprovalMode.DEFAULT);
      await run(contextId, ApprovalMode.YOLO);
      expect(existsSync(join(workspace, "unasked.txt"))).toBe(false);
    });

    it("keep it from what its approval mode excludes", async () => {
      const client = CLIENTS[name](server);
      const file = `${name.replaceAll(/\W/g, "-")}.txt`;
      const { result } = await client.commands.runSlashCommand({
        command: { commandPath: ["shell"], args: `touch ${file}` },
        settings: { workspacePath: elsewhere },
        sessionSettings: { approvalMode: ApprovalMode.PLAN },
      });
      await ended(client, result?.executionId ?? "");
      expect(
        [workspace, elsewhere].filter((directory) =>
          existsSync(join(directory, file)),
        ),
      ).toEqual([]);
    });
  });

  it("have it ask over Gemini CLI's dialect when the client does not let it execute by itself", async () => {
    const transport = createGeminiCliTransport({
      url: server.url,
      token: server.token,
    });
    const { commands } = createDevtoolClient(transport);
    const { result } = await commands.runSlashCommand({
      command: { commandPath: ["shell"], args: "touch unasked.txt" },
      sessionSettings: { approvalMode: ApprovalMode.DEFAULT },
    });
    expect(result?.status).toBe(
      CommandExecutionStatus.AWAITING_SHELL_CONFIRMATION,
    );
    expect(existsSync(join(workspace, "unasked.txt"))).toBe(false);
  });

  it("are refused over Gemini CLI's dialect where it cannot express them", async () => {
    const transport = createGeminiCliTransport({
      url: server.url,
      token: server.token,
    });
    const { commands } = createDevtoolClient(transport);
    const command = { commandPath: ["shell"], args: "touch gemini.txt" };
    const asked = commands.runSlashCommand({
      command,
      sessionSettings: { approvalMode: ApprovalMode.PLAN },
    });
    await expect(asked).rejects.toThrow(
      "approval_mode is not available over the coderAgent dialect",
    );
    expect(existsSync(join(workspace, "gemini.txt"))).toBe(false);
  });
});

/**
 * An agent with a command whose description is the directory that it is listed
 * for.
 */
const greeter: Agent = {
  about: { name: "Greeter", description: "Greets." },
  follows: ["model"],
  open: () => ({
    commands: {
      list: ({ workspacePath }) =>
        Promise.resolve([
          create(SlashCommandSchema, {
            name: "greet",
            description: workspacePath,
          }),
        ]),
      check: () => Promise.resolve(undefined),
    },
    createExecutor: () => ({
      async *execute({ task: { history, sessionSettings } }) {
        yield {
          case: "text",
          value: `by ${history.at(-1)?.model || sessionSettings?.model}`,
        };
      },
    }),
  }),
};

/** Returns what the agent said last. */
function textOf({ history }: Task): string {
  return (history.at(-1)?.parts ?? [])
    .flatMap(({ content }) => (content.case === "text" ? content.value : []))
    .join("");
}

async function ended(client: DevtoolClient, taskId: string): Promise<Task> {
  let task = emptyTask();
  for await (const event of subscribeTask(
    client,
    { taskId },
    AbortSignal.timeout(60_000),
  )) {
    task = reduceTask(task, event);
    if (isTerminal(task.state)) break;
  }
  return task;
}
