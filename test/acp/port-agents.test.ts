import { PassThrough } from "node:stream";
import type { McpServer, SessionConfigOption } from "@agentclientprotocol/sdk";
import {
  type PortAgent,
  portAgentFrom,
  serveAcp,
  stdioStream,
} from "@devtool/acp/port";
import type { DevtoolClient } from "@devtool/client";
import { fetchAgentCard } from "@devtool/client/a2a";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { Role, type Task, TaskState } from "@devtool/schema";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { Editor } from "./port/editor.ts";

describe("the agent as an option of a session", () => {
  let workspace: string;
  let server: DevtoolServer;
  let client: DevtoolClient;
  let editor: Editor;
  /** Ends the turn that waits. */
  let release: () => void;

  beforeEach(async () => {
    workspace = temporaryDirectory();
    const gate = Promise.withResolvers<void>();
    release = gate.resolve;
    server = await createServer({
      workspace,
      agents: {
        one: {
          ...listener("one", gate.promise),
          follows: ["approval_mode", "mcp_servers"],
        },
        two: listener("two"),
      },
    });
    client = clientOf(server);
    editor = start(["one", "two"]);
  });
  afterEach(async () => {
    const { problems } = editor;
    await editor[Symbol.asyncDispose]();
    await server.close();
    expect(problems).toEqual([]);
  });

  it("is offered with the names of all, the first chosen", async () => {
    await editor.agent.request("initialize", { protocolVersion: 1 });
    const { configOptions } = await editor.agent.request("session/new", {
      cwd: workspace,
      mcpServers: [],
    });
    expect(configOptions).toMatchObject([
      {
        id: "agent",
        type: "select",
        currentValue: "one",
        options: [{ value: "one" }, { value: "two" }],
      },
    ]);
  });

  it("is not offered where there is one", async () => {
    await editor[Symbol.asyncDispose]();
    editor = start(["one"]);
    await editor.agent.request("initialize", { protocolVersion: 1 });
    const opened = await editor.agent.request("session/new", {
      cwd: workspace,
      mcpServers: [],
    });
    expect(opened.configOptions).toBeUndefined();
    await expect(choose(opened.sessionId, "two")).rejects.toMatchObject({
      message: 'config option "agent" does not exist: this agent has none',
    });
  });

  it("is chosen before the first prompt without further ado", async () => {
    const session = await editor.open(workspace);
    expect(await choose(session, "two")).toMatchObject([
      { id: "agent", currentValue: "two" },
    ]);
    await editor.prompt(session, "Hello.");
    expect(editor.text).toBe("two heard Hello.\n");
    expect(await places()).toEqual([`two in ${session}`]);
  });

  it("begins a conversation that has not heard the earlier one, says so, and goes back to that", async () => {
    const session = await editor.open(workspace);
    await editor.prompt(session, "A.");
    await choose(session, "two");
    await editor.until(() => editor.text.includes("begins"));
    const [, context = ""] = /session "([^"]+)"/.exec(editor.text) ?? [];
    expect(editor.text).toContain(
      `Agent "two" begins a new conversation, session "${context}": it has not seen what`,
    );
    await editor.prompt(session, "B.");
    await choose(session, "one");
    await editor.prompt(session, "C.");
    const said = editor.text
      .split("\n")
      .filter((line) => line.includes("heard"));
    expect(said).toEqual(["one heard A.", "two heard B.", "one heard A. C."]);
    expect(editor.text).toContain(
      'Agent "one" goes on where it was: it has not seen what others were told.',
    );
    expect(new Set(await places())).toEqual(
      new Set([`one in ${session}`, `two in ${context}`]),
    );
  });

  it("tells an editor that shows notices by one", async () => {
    const session = await editor.open(workspace, { session: { notices: {} } });
    await editor.prompt(session, "A.");
    await choose(session, "two");
    const title = expect.stringContaining(
      'Agent "two" begins a new conversation',
    );
    const isNotice = (): boolean =>
      editor.updates.some(({ sessionUpdate }) => sessionUpdate === "notice");
    await editor.until(isNotice);
    expect(editor.updates).toContainEqual({
      sessionUpdate: "notice",
      severity: "info",
      title,
    });
    expect(editor.text).toBe("one heard A.\n");
  });

  it("leaves a prompt that is being answered to its agent", async () => {
    const session = await editor.open(workspace);
    const ended = editor.prompt(session, "wait");
    await expect.poll(async () => (await places()).length).toBe(1);
    await choose(session, "two");
    release();
    expect(await ended).toBe("end_turn");
    await editor.prompt(session, "B.");
    await choose(session, "one");
    await editor.prompt(session, "C.");
    const said = editor.text
      .split("\n")
      .filter((line) => line.includes("heard"));
    expect(said).toEqual([
      "one heard wait",
      "two heard B.",
      "one heard wait C.",
    ]);
  });

  it("is that of the session which is loaded", async () => {
    const session = await editor.open(workspace);
    await choose(session, "two");
    await editor.prompt(session, "A.");
    await editor[Symbol.asyncDispose]();
    editor = start(["one", "two"]);
    await editor.agent.request("initialize", { protocolVersion: 1 });
    const params = { sessionId: session, cwd: workspace, mcpServers: [] };
    expect(await editor.agent.request("session/resume", params)).toMatchObject({
      configOptions: [{ id: "agent", currentValue: "two" }],
    });
    await editor.prompt(session, "B.");
    expect(editor.text).toBe("two heard A. B.\n");
  });

  it("decides which settings are offered: those that it follows", async () => {
    const offered = async (first: string, other: string) => {
      await editor[Symbol.asyncDispose]();
      editor = start([first, other]);
      const { agent } = editor;
      const { agentCapabilities } = await agent.request("initialize", {
        protocolVersion: 1,
      });
      const opened = await agent.request("session/new", {
        cwd: workspace,
        mcpServers: [BROUGHT],
      });
      return { ...opened, takes: agentCapabilities?.mcpCapabilities };
    };
    const one = await offered("one", "two");
    expect(one.takes).toEqual({ http: true, sse: true });
    expect(one.modes?.availableModes.map(({ id }) => id)).toContain("plan");
    await choose(one.sessionId, "two");
    await editor.prompt(one.sessionId, "Hello.");
    expect(editor.text).toMatch(
      /The agent "two" does not take MCP servers of its clients: the session goes on without them\.\s*two heard Hello\./,
    );
    const two = await offered("two", "one");
    expect(two.takes).toEqual({ http: false, sse: false });
    expect(two.modes).toBeUndefined();
    const mode = { sessionId: two.sessionId, modeId: "plan" };
    await expect(
      editor.agent.request("session/set_mode", mode),
    ).rejects.toMatchObject({
      message: 'mode "plan" cannot be used: the agent "two" has no modes',
    });
    await editor.prompt(two.sessionId, "Hello.");
    expect(editor.text).toContain("two heard Hello.");
  });

  it("must be one of them", async () => {
    const session = await editor.open(workspace);
    await expect(choose(session, "three")).rejects.toMatchObject({
      code: -32_602,
      message: 'agent "three" is not offered: choose one, two',
    });
  });

  async function choose(
    sessionId: string,
    value: string,
  ): Promise<readonly SessionConfigOption[]> {
    const answer = await editor.agent.request("session/set_config_option", {
      sessionId,
      configId: "agent",
      value,
    });
    return answer.configOptions;
  }

  /** The agent and the context of each task. */
  async function places(): Promise<string[]> {
    const { tasks } = await client.tasks.listTasks({});
    const read = await Promise.all(
      tasks.map(({ id }) => client.tasks.getTask({ taskId: id })),
    );
    return read.map(
      ({ task }) => `${task?.sessionSettings?.agent} in ${task?.contextId}`,
    );
  }

  function start(names: readonly string[]): Editor {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const described = async (name: string): Promise<[string, PortAgent]> => {
      const url = `${server.url}/agents/${name}`;
      const signal = AbortSignal.timeout(30_000);
      const card = await fetchAgentCard({ url, extension: "optional" }, signal);
      return [name, portAgentFrom(card)];
    };
    const connect = async () => {
      const agents = new Map(await Promise.all(names.map(described)));
      const [agent] = agents.values();
      if (!agent) throw new Error("there is no agent");
      return { client, workspace, agent, agents };
    };
    void serveAcp(
      { stream: stdioStream(input, output), connect },
      new AbortController().signal,
    );
    return new Editor(input, output);
  }
});

const BROUGHT: McpServer = {
  type: "http",
  name: "tools",
  url: "https://example.com",
  headers: [],
};

/**
 * Returns an agent that says what it has heard, and waits for the next message.
 * On "wait" it waits for `until` first.
 */
function listener(
  name: string,
  until: Promise<void> = Promise.resolve(),
): Agent {
  return {
    about: { name, description: "Says what it heard." },
    open: () => ({
      createExecutor: () => ({
        async *execute({ task }) {
          const heard = wordsOf(task);
          if (heard.at(-1) === "wait") await until;
          yield* [
            {
              case: "text",
              value: `${name} heard ${heard.join(" ")}\n`,
            } as const,
          ];
          yield {
            case: "end",
            value: { state: TaskState.INPUT_REQUIRED, text: "" },
          };
        },
      }),
    }),
  };
}

function wordsOf({ history }: Task): string[] {
  const users = history.filter(({ role }) => role === Role.USER);
  return users.flatMap(({ parts }) =>
    parts.flatMap(({ content }) =>
      content.case === "text" ? [content.value] : [],
    ),
  );
}
