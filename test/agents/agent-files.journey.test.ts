import { textMessage } from "@devtool/client";
import {
  codingAgent,
  type Model,
  serveCodingAgent,
  stepStart,
} from "@devtool/coding-agent";
import { TrustStore, Workspace } from "@devtool/coding-agent/operator";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ApprovalMode, findToolCallDetail, toolCallsOf } from "@devtool/schema";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";

/** Calls the agent of a prompt such as `tester: Look.`, or says what it was told. */
const model: Model = {
  name: "own",
  async *generate({ history, instructions }) {
    await instructions();
    const { message, results } = stepStart(history);
    const [part] = message?.parts ?? [];
    const text = part?.content.case === "text" ? part.content.value : "";
    const [, name, rest = ""] = /^(\w+): (.*)$/s.exec(text) ?? [];
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
    server = await createServer({
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

  it("work as the agent itself with their text and tools, and do not call themselves", async () => {
    await trust();
    const text = await textOf("tester: Look.");
    expect(text).toContain(
      "told: You work as the agent tester:\n\nYou test.\n\nYour task:\n\nLook.",
    );
    const { task: parent } = await send("tester: Look.");
    const [call] = parent?.history.flatMap(toolCallsOf) ?? [];
    const { delegation } =
      (parent && findToolCallDetail(parent, call?.toolCallId ?? "")) ?? {};
    const { task } = await clientOf(server).tasks.getTask({
      taskId: delegation?.taskId ?? "",
    });
    expect(task?.sessionSettings).toMatchObject({
      agent: "main",
      allowedTools: ["read_file"],
    });
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

  async function trust(): Promise<void> {
    const store = new TrustStore({
      dataDirectory,
      openDirectory: (path: string): Workspace => new Workspace(path),
      now: () => new Date(),
    });
    await store.grant(await store.preview(workspace));
  }

  function send(text: string) {
    return clientOf(server).tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), text),
    });
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
