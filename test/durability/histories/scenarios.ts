import { fileURLToPath } from "node:url";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type DevtoolClient, textMessage } from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import type { createGeminiModel } from "@devtool/gemini";
import { createMcp } from "@devtool/mcp";
import {
  ApprovalMode,
  MessageDelivery,
  type SendMessageRequestSchema,
  TaskState,
} from "@devtool/schema";
import { defineWorkflow, workflowAgent } from "@devtool/workflow";
import { nodeServer } from "../../mcp/servers.ts";
import type { Conversation } from "../../scenarios/conversation.ts";
import type { GroundOptions } from "../../scenarios/ground.ts";
import { ownAgent } from "./own-agent.ts";

/** A conversation whose log is kept, to be replayed on every later version. */
export interface HistoryScenario {
  /** The base name of the files of its history. */
  readonly name: string;
  /** The files of the workspace before it. */
  readonly files?: Readonly<Record<string, string>>;
  readonly options?: GroundOptions;
  readonly gemini?: Partial<Parameters<typeof createGeminiModel>[0]>;
  /** Sent beside the first message. */
  readonly first?: MessageInitShape<typeof SendMessageRequestSchema>;
  play(talk: Conversation, client: DevtoolClient): Promise<void>;
}

/** The id of the task that is at work, when there is one. */
async function workingTask(client: DevtoolClient): Promise<string> {
  for (;;) {
    const { tasks } = await client.tasks.listTasks({
      state: TaskState.WORKING,
    });
    if (tasks[0]) return tasks[0].id;
  }
}

const doorman = nodeServer("doorman", [
  fileURLToPath(new URL("../../scenarios/mcp-server.ts", import.meta.url)),
]);
const picture = {
  name: "x.png",
  mediaType: "image/png",
  source: { case: "bytes" as const, value: Buffer.from("89504e47", "hex") },
};

/**
 * The scenarios. A name stands for its files: who changes what is played makes
 * a new name for it.
 */
export const SCENARIOS: readonly HistoryScenario[] = [
  {
    name: "edits",
    files: { "b.txt": "old\n", "c.txt": "left\n" },
    play: async (talk) => {
      await talk.say(
        "think 2\nwrite a.txt one\\n\nedit b.txt old => new\nedit c.txt left => right\ntext Done.",
      );
      const choices = ["proceed_once", "cancel", "proceed_always"];
      await talk.answer(() => ({
        option: choices.shift() ?? "",
        ...(choices.length === 0 && { newContent: "mine\n" }),
      }));
    },
  },
  {
    name: "reads",
    files: { "a.txt": "A\n", "b.txt": "B\n" },
    play: (talk) =>
      talk.say(
        "read a.txt\nread b.txt\nread gone.txt\nsay 3\ncite https://example.com/source",
      ),
  },
  {
    name: "mended-command",
    files: { "check.sh": "echo failing; exit 3\n" },
    play: async (talk) => {
      await talk.say(
        "run bash check.sh\ntext I mend it.\nedit check.sh exit 3 => exit 0\nrun bash check.sh\ntext Well.",
      );
      await talk.answer(() => "proceed_once");
      await talk.answer(() => "proceed_once");
    },
  },
  {
    name: "mcp-question",
    options: { mcp: createMcp({ servers: [doorman] }) },
    play: async (talk) => {
      await talk.say("call mcp__doorman__greet {}\ntext Greeted.");
      await talk.answer(() => "proceed_always_server");
      await talk.answer(() => "proceed_once", "Ada");
    },
  },
  {
    name: "open-questions",
    files: { "b.txt": "old\n" },
    play: (talk) =>
      talk.say(
        "write a.txt one\\n\nedit b.txt old => new\nrun cat a.txt b.txt\ntext All done.",
      ),
  },
  {
    name: "shown-again",
    play: async (talk) => {
      await talk.say("write a.txt draft\\n\ntext Written.");
      await talk.answer(() => ({
        option: "modify_with_editor",
        newContent: "mine\n",
      }));
    },
  },
  {
    name: "failed-model",
    play: async (talk) => {
      await talk.say("fail 503 2\ntext so far\nwrite a.txt x\ncut");
      await talk.say("text again");
    },
  },
  {
    name: "canceled",
    play: async (talk, client) => {
      await talk.say("text I would\nrun touch a.txt\nread a.txt");
      await client.tasks.cancelTask({ taskId: talk.task.id });
    },
  },
  {
    name: "plan",
    files: { "a.txt": "A\n" },
    first: {
      sessionSettings: {
        approvalMode: ApprovalMode.PLAN,
        model: "gemini-session",
      },
    },
    play: async (talk) => {
      await talk.say("read a.txt\nwrite b.txt x\ntext That is the plan.");
      const parts = [{ content: { case: "file" as const, value: picture } }];
      await talk.say("", {
        model: "gemini-message",
        parts: [
          ...parts,
          { content: { case: "text", value: "text I see it" } },
        ],
      });
    },
  },
  {
    name: "summarized",
    files: { "long.txt": "a line of the long file\n".repeat(400) },
    gemini: { maxInputTokens: 2000 },
    play: async (talk) => {
      await talk.say("read long.txt\ntext never said");
      await talk.say("text on we go");
    },
  },
  {
    name: "queued",
    play: async (talk, client) => {
      const turn = talk.say("wait 3000\ntext one");
      const taskId = await workingTask(client);
      const send = (
        messageId: string,
        text: string,
        delivery = MessageDelivery.QUEUE,
      ) =>
        client.tasks.sendMessage({
          message: textMessage(messageId, text),
          taskId,
          messageSettings: { delivery },
          returnImmediately: true,
        });
      await send("withdrawn", "text never");
      await send("taken", "text two");
      await send("steered", "text three", MessageDelivery.STEER);
      await client.tasks.withdrawMessage({ taskId, messageId: "withdrawn" });
      await turn;
    },
  },
  {
    name: "command",
    files: { "AGENTS.md": "Be kind.\n" },
    play: async (_talk, client) => {
      const { result } = await client.commands.runSlashCommand({
        command: { commandPath: ["memory", "add"], args: "Tests are slow." },
      });
      if (!result?.executionId) {
        throw new Error(`the command should start: ${result?.message}`);
      }
    },
  },
  {
    name: "made",
    options: { agents: { own: ownAgent } },
    play: (talk) => talk.say("make"),
  },
  {
    name: "replied",
    options: { agents: { own: ownAgent } },
    play: (talk) => talk.say("reply"),
  },
  {
    name: "refused",
    options: { agents: { own: ownAgent } },
    play: (talk) => talk.say("refuse"),
  },
  {
    name: "editor",
    options: { agents: { own: ownAgent } },
    play: (talk) => talk.say("look"),
  },
  {
    name: "goal",
    files: { "a.txt": "one\n" },
    options: {
      agents: {
        own: ownAgent,
        devtool: codingAgent({ approvalMode: ApprovalMode.YOLO }),
      },
    },
    first: {
      messageSettings: {
        goal: {
          checks: ["cat a.txt", "test -e b.txt || { touch b.txt; false; }"],
        },
      },
    },
    play: (talk) => talk.say("strive"),
  },
  {
    name: "workflow",
    options: {
      agents: {
        flow: workflowAgent(
          defineWorkflow({
            name: "flow",
            steps: [
              { id: "strive", agent: "own", task: "strive" },
              {
                id: "make",
                agent: "own",
                task: "make",
                dependencies: ["strive"],
              },
            ],
            output: "{{steps.strive.result.text}}",
          }),
        ),
        own: ownAgent,
      },
    },
    play: (talk) => talk.say("go"),
  },
  {
    name: "forked",
    play: async (talk, client) => {
      await talk.say("text One.");
      await talk.say("text Two.");
      const { id: taskId, history } = talk.task;
      const beforeMessageId = history.at(-2)?.messageId ?? "";
      await client.tasks.sendMessage({
        message: textMessage("fork", "text Else."),
        messageSettings: { fork: { taskId, beforeMessageId } },
      });
    },
  },
  {
    name: "renamed",
    play: async (talk, client) => {
      await talk.say("text One.");
      await client.tasks.renameTask({
        taskId: talk.task.id,
        title: "Another",
        clientLabel: "a test",
      });
    },
  },
  {
    name: "later-server",
    options: { mcp: createMcp() },
    play: async (talk, client) => {
      await talk.say("text One.");
      await client.tasks.sendMessage({
        taskId: talk.task.id,
        message: textMessage("second", "text Two."),
        sessionSettings: {
          mcpServers: [
            {
              name: "docs",
              transport: {
                case: "http",
                value: { url: "http://127.0.0.1:9/mcp" },
              },
            },
          ],
        },
      });
    },
  },
  {
    name: "limited",
    first: { sessionSettings: { allowedTools: ["read_file"] } },
    play: (talk) => talk.say("text One."),
  },
];
