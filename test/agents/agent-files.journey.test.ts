import { join } from "node:path";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import {
  codingAgent,
  type Model,
  serveCodingAgent,
  stepStart,
} from "@devtool/coding-agent";
import { TrustStore, Workspace } from "@devtool/coding-agent/operator";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  confirmationsOf,
  findToolCallDetail,
  type Task,
  TaskState,
  toolCallsOf,
} from "@devtool/schema";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";

/**
 * Calls the agent of a task such as `tester: Look.`, writes a file for `Write.`,
 * or says what it was told.
 */
const model: Model = {
  name: "own",
  async *generate({ history, instructions }) {
    await instructions();
    const { message, results } = stepStart(history);
    const [part] = message?.parts ?? [];
    const text = part?.content.case === "text" ? part.content.value : "";
    const own = text.split("Your task:\n\n").at(-1) ?? "";
    if (own === "Write.") {
      const args = { file_path: "made.txt", content: "made" };
      return yield { case: "toolCall", value: { name: "write_file", args } };
    }
    const [, name, rest = ""] = /^(\w+): (.*)$/s.exec(own) ?? [];
    if (name !== undefined) {
      const value = { name: `agent_${name}`, args: { message: rest } };
      return yield { case: "toolCall", value };
    }
    yield {
      case: "text",
      value: message ? `told: ${text}` : `ended: ${results.length}`,
    };
  },
};

describe("the agents of a repository's files", () => {
  let below: DevtoolServer;
  let server: DevtoolServer;
  let workspace: string;
  let dataDirectory: string;
  let home: string;
  const notices: string[] = [];
  beforeEach(async () => {
    notices.length = 0;
    workspace = temporaryDirectory();
    dataDirectory = temporaryDirectory();
    home = temporaryDirectory();
    below = await serveCodingAgent({ model, workspace: temporaryDirectory() });
    put(
      "far",
      `kind: remote\nname: far\nagent_card_url: ${below.url}/.well-known/agent-card.json\nauth: { type: http, scheme: Bearer, token: "${below.token}" }`,
    );
    put("tester", "name: tester\ntools: [read_file]", "You test.");
    put("bad", "name: BAD", "Bad.");
    server = await start();
  });
  const start = (): Promise<DevtoolServer> =>
    createServer({
      agents: {
        main: codingAgent({
          model,
          agentDirectory: home,
          approvalMode: ApprovalMode.YOLO,
        }),
      },
      workspace,
      dataDirectory,
      onNotice: (text) => notices.push(text),
    });
  afterEach(async () => {
    await server.close();
    await below.close();
  });

  it("are there once the operator trusts it, and not after a change", async () => {
    expect(await resultOf("far: Hello.")).toMatchObject({
      type: "tool_not_registered",
    });
    await trust();
    expect(await textOf("far: Hello.")).toContain("told: Hello.");
    put("far", `kind: remote\nname: far\nagent_card_url: ${below.url}`);
    expect(await resultOf("far: Hello.")).toMatchObject({
      type: "tool_not_registered",
    });
  });

  it("work as the agent itself with their text and tools", async () => {
    await trust();
    const text = await textOf("tester: Look.");
    expect(text).toContain(
      "told: You work as the agent tester:\n\nYou test.\n\nYour task:\n\nLook.",
    );
    const child = await childOf("tester: Look.");
    expect(child?.sessionSettings).toMatchObject({
      agent: "main",
      allowedTools: ["read_file"],
    });
  });

  it("are not offered to themselves", async () => {
    put("looper", "name: looper", "You loop.");
    await trust();
    const child = await childOf("looper: looper: Again.");
    expect(child?.history.flatMap(toolCallsOf)[0]).toMatchObject({
      toolName: "agent_looper",
      result: { value: { type: "tool_not_registered" } },
    });
  });

  it("take no name of the operator's agents, and no rule allows them by name", async () => {
    const named = ["mine", "reviewer", "tester", "far"];
    const { url, token } = below;
    for (const name of ["mine", "reviewer"]) {
      put(name, `name: ${name}`, "I am the repository's.");
      const text = `---\nname: ${name}\n---\nI am the operator's.`;
      putFile(home, `${name}.md`, text);
    }
    const rule = `tool = ${JSON.stringify(named.map((name) => `agent_${name}`))}`;
    putFile(home, "policy.toml", `[[rule]]\n${rule}\ndecision = "allow"\n`);
    const directory = temporaryDirectory();
    await trust(directory);
    await using asking = await createServer({
      agents: {
        main: codingAgent({
          model,
          agentDirectory: home,
          policyFiles: [join(home, "policy.toml")],
          remoteAgents: [{ name: "mine", description: "", url, token }],
        }),
      },
      workspace,
      dataDirectory: directory,
      onNotice: (text) => notices.push(text),
    });
    const ended: [TaskState | undefined, string][] = [];
    for (const name of named) {
      const { task } = await send(`${name}: Look.`, asking);
      const [call] = task?.history.flatMap(toolCallsOf) ?? [];
      ended.push([task?.state, JSON.stringify(call?.result.value ?? "")]);
    }
    expect(ended).toEqual([
      [TaskState.COMPLETED, expect.stringContaining("told: Look.")],
      [TaskState.COMPLETED, expect.stringContaining("I am the operator's.")],
      [TaskState.INPUT_REQUIRED, '""'],
      [TaskState.INPUT_REQUIRED, '""'],
    ]);
    const leftOut = notices.filter((notice) => notice.includes("is left out"));
    expect(leftOut).toEqual(
      expect.arrayContaining([
        `agent "reviewer" of .gemini/agents/reviewer.md is left out: its name is that of another agent, or nearly`,
      ]),
    );
    expect(new Set(leftOut).size).toBe(leftOut.length);
  });

  it("cost only themselves when they are wrong, and the user is told why", async () => {
    await trust();
    const problem =
      'agent file ".gemini/agents/bad.md" is left out: name: Invalid string';
    const told: string[] = [];
    const message = textMessage(crypto.randomUUID(), "Hello.");
    for await (const { event } of clientOf(server).tasks.streamMessage({
      request: { message },
    })) {
      if (event?.payload.case !== "notice") continue;
      told.push(event.payload.value.text);
    }
    expect(told.join("\n")).toContain(problem);
    expect(notices.join("\n")).toContain(problem);
  });

  it("have no tool that the session does not have", async () => {
    await trust();
    for (const [tool, expected] of [
      ["read_file", "told: You work as"],
      ["list_directory", 'agent "tester" has no tool that this session allows'],
    ] as const) {
      const { task } = await clientOf(server).tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), "tester: Look."),
        sessionSettings: { allowedTools: ["agent_tester", tool] },
      });
      const [call] = task?.history.flatMap(toolCallsOf) ?? [];
      expect(JSON.stringify(call?.result.value)).toContain(
        JSON.stringify(expected).slice(1, -1),
      );
    }
  });

  it("go on after a restart as they were, with what they ask", async () => {
    put("writer", "name: writer\ntools: [write_file]", "You write.");
    await trust();
    const { task: begun } = await clientOf(server).tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), "writer: Write."),
      sessionSettings: { approvalMode: ApprovalMode.DEFAULT },
    });
    const taskId = begun?.id ?? "";
    const answer = async () => {
      const { tasks } = clientOf(server);
      const { task } = await tasks.getTask({ taskId });
      const calls = task ? pendingToolCalls(task) : [];
      const parts = calls.map((call) => confirmationPart(call, "proceed_once"));
      const message = { messageId: crypto.randomUUID(), parts };
      return (await tasks.sendMessage({ taskId, message })).task;
    };
    const asked = await answer();
    const questionIn = (task: Task | undefined) =>
      task &&
      pendingToolCalls(task).map(
        ({ toolCallId, shownDigest, description }) => ({
          ...{ toolCallId, shownDigest, description },
        }),
      );
    expect(questionIn(asked)).toMatchObject([
      { description: expect.stringContaining('writer → "write_file" asks') },
    ]);
    await server.close();
    server = await start();
    const { tasks } = clientOf(server);
    const { task: again } = await tasks.getTask({ taskId });
    expect(questionIn(again)).toEqual(questionIn(asked));
    expect((await answer())?.state).toBe(TaskState.COMPLETED);
    expect(fileText(workspace, "made.txt")).toBe("made");
    const { tasks: all } = await tasks.listTasks({});
    const [child, ...others] = all.filter(({ id }) => id !== taskId);
    expect(others).toEqual([]);
    const { task: done } = await tasks.getTask({ taskId: child?.id ?? "" });
    expect(done?.sessionSettings?.allowedTools).toEqual(["write_file"]);
    expect(done?.history.flatMap(confirmationsOf)).toHaveLength(1);
  });

  it("are also the operator's own", async () => {
    putFile(home, "mine.md", "---\nname: mine\n---\nYou are mine.");
    expect(await textOf("mine: Look.")).toContain("You are mine.");
  });

  function put(name: string, head: string, text = ""): void {
    putFile(
      workspace,
      `.gemini/agents/${name}.md`,
      `---\n${head}\n---\n${text}\n`,
    );
  }

  async function trust(directory = dataDirectory): Promise<void> {
    const store = new TrustStore({
      dataDirectory: directory,
      openDirectory: (path: string): Workspace => new Workspace(path),
      now: () => new Date(),
    });
    await store.grant(await store.preview(workspace));
  }

  function send(text: string, to = server) {
    return clientOf(to).tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), text),
    });
  }

  /** Returns the task of the agent that a message calls. */
  async function childOf(text: string): Promise<Task | undefined> {
    const { task: parent } = await send(text);
    const [call] = parent?.history.flatMap(toolCallsOf) ?? [];
    const { delegation } =
      (parent && findToolCallDetail(parent, call?.toolCallId ?? "")) ?? {};
    const taskId = delegation?.taskId ?? "";
    return (await clientOf(server).tasks.getTask({ taskId })).task;
  }

  async function resultOf(text: string): Promise<unknown> {
    const { task } = await send(text);
    return task?.history.flatMap(toolCallsOf)[0]?.result.value;
  }

  async function textOf(text: string): Promise<string> {
    return JSON.parse(JSON.stringify(Object(await resultOf(text)).result))
      .value;
  }
});
