import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { acpAgent } from "@devtool/acp";
import { fakeAgentCommand } from "@devtool/acp/testing";
import {
  bearerInterceptor,
  type DevtoolClient,
  textMessage,
} from "@devtool/client";
import { codexAgent } from "@devtool/codex";
import { FAKE_APP_SERVER } from "@devtool/codex/testing";
import { codingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type SendMessageRequestSchema, TaskState } from "@devtool/schema";
import { A2AService } from "@devtool/schema/a2a-v1";
import { A2aRole } from "@devtool/schema/testing";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { postJson } from "../post-json.ts";

const EXT =
  "https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md";
const SETTINGS = "https://devtool.dev/a2a/session-settings/v1alpha";

/** Settings in their JSON, by how an error names them. */
const SERVER = { name: "docs", http: { url: "http://127.0.0.1:1/mcp" } };
const VALUES: Readonly<Record<string, JsonObject>> = {
  'allowed_tools "read_file"': { allowedTools: ["read_file"] },
  allowed_tools: { allowedTools: [""] },
  'session_settings.approval_mode "PLAN"': {
    approvalMode: "APPROVAL_MODE_PLAN",
  },
  'session_settings.approval_mode "DEFAULT"': {
    approvalMode: "APPROVAL_MODE_DEFAULT",
  },
  'model "other"': { model: "other" },
  'mcp_servers "docs"': { mcpServers: [SERVER] },
  'session_settings.agent_options "effort"': {
    agentOptions: { effort: "high" },
  },
};

/** What each agent refuses of that. The coding agent here has no `mcp`. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  own: Object.keys(VALUES),
  codex: [
    'allowed_tools "read_file"',
    "allowed_tools",
    'session_settings.agent_options "effort"',
  ],
  acp: ['allowed_tools "read_file"', "allowed_tools"],
  devtool: [
    'model "other"',
    'mcp_servers "docs"',
    'session_settings.agent_options "effort"',
  ],
};
const CASES = Object.entries(REFUSED).flatMap(([agent, fields]) =>
  fields.map((field) => [agent, field] as const),
);

describe("N1, N12: a setting that the agent does not follow", () => {
  const base = temporaryDirectory();
  const workspace = join(base, "work");
  const home = join(base, "codex");
  let server: DevtoolServer;
  let client: DevtoolClient;

  beforeAll(async () => {
    mkdirSync(workspace);
    mkdirSync(home);
    server = await createServer({
      agents: {
        own: ownAgent,
        codex: codexAgent({
          command: FAKE_APP_SERVER,
          environment: { CODEX_HOME: home, PATH: process.env.PATH ?? "" },
        }),
        acp: acpAgent({ name: "fake", command: fakeAgentCommand() }),
        devtool: codingAgent(),
      },
      workspace,
    });
    client = clientOf(server);
  });
  afterAll(() => server.close());

  describe.each([...CASES])("agent %s, %s", (agent, field) => {
    const settings = VALUES[field] ?? {};

    it.each(Object.entries(DIALECTS))(
      "is refused over %s, and nothing is stored",
      async (_dialect, send) => {
        const before = await countTasks();
        expect(await send(server, agent, settings)).toContain(field);
        expect(await countTasks()).toBe(before);
      },
    );
  });

  it.each(CASES)(
    "is refused by agent %s later on, too: %s",
    async (agent, field) => {
      const first = textMessage(crypto.randomUUID(), "text Hi.");
      const { task } = await client.tasks.sendMessage({
        message: first,
        sessionSettings: { agent },
        returnImmediately: true,
      });
      const { id = "", contextId = "" } = task ?? {};
      const settings = VALUES[field] ?? {};
      const a2a = DIALECTS["A2A 0.3"] ?? expect.fail();
      const before = await countTasks();
      for (const place of [{ taskId: id }, { contextId }]) {
        const words = await a2a(server, agent, settings, place);
        expect(words).toMatch(/does not follow it|differ from|does not exist/);
      }
      expect(await countTasks()).toBe(before);
    },
  );

  it("is refused for a single message and for a slash command", async () => {
    const sessionSettings = { agent: "own" };
    const message = { ...textMessage("m", "Hi."), model: "other" };
    await expect(
      client.tasks.sendMessage({ message, sessionSettings }),
    ).rejects.toThrow('model "other" cannot be used: agent "own"');
    await expect(
      client.commands.runSlashCommand({
        command: { commandPath: ["x"] },
        sessionSettings: { ...sessionSettings, allowedTools: ["read_file"] },
      }),
    ).rejects.toThrow('allowed_tools "read_file" cannot be used: agent "own"');
  });

  it("V21: is refused as a value that only a newer client knows", async () => {
    const before = await countTasks();
    const { task } = await client.tasks.sendMessage({
      message: textMessage("known", "text Hi."),
      sessionSettings: { agent: "devtool" },
    });
    const { id: taskId = "", contextId = "" } = task ?? {};
    const newer: number = 17;
    const unknown = {
      sessionSettings: { agent: "devtool", approvalMode: newer },
    };
    const turn = { approvalPolicy: newer };
    const cases: [string, MessageInitShape<typeof SendMessageRequestSchema>][] =
      [
        ["session_settings.approval_mode", unknown],
        ["session_settings.approval_mode", { ...unknown, contextId }],
        ["session_settings.approval_mode", { ...unknown, taskId }],
        ["message_settings.delivery", { messageSettings: { delivery: newer } }],
        [
          "message_settings.turn.approval_policy",
          { messageSettings: { turn }, sessionSettings: { agent: "codex" } },
        ],
      ];
    for (const [field, request] of cases) {
      const message = textMessage(crypto.randomUUID(), "text Hi.");
      await expect(
        client.tasks.sendMessage({ message, ...request }),
      ).rejects.toThrow(`${field} "17" is not known here: choose UNSPECIFIED,`);
    }
    expect(await countTasks()).toBe(before + 1);
  });

  it("is followed where the agent says so, and the operator's own values ask nothing", async () => {
    for (const sessionSettings of [
      { agent: "devtool", allowedTools: ["read_file"], model: "scripted" },
      { agent: "own", approvalMode: 4 },
      { agent: "own", model: "mine" },
    ]) {
      const message = textMessage(crypto.randomUUID(), "text Hi.");
      const { task } = await client.tasks.sendMessage({
        message,
        sessionSettings,
      });
      expect(task?.state).toBe(TaskState.COMPLETED);
    }
  });

  async function countTasks(): Promise<number> {
    return (await client.tasks.listTasks({})).tasks.length;
  }
});

/** An agent that follows nothing. */
const ownAgent: Agent = {
  about: { name: "Own", description: "Publishes." },
  model: "mine",
  open: () => ({
    createExecutor: () => ({
      async *execute(turn) {
        yield* turn.say("Hi.");
      },
    }),
  }),
};

/**
 * Sends a first message with settings to an agent. Returns the answer as text.
 */
type Send = (
  server: DevtoolServer,
  agent: string,
  settings: JsonObject,
  place?: JsonObject,
) => Promise<string>;

/** Each dialect, and the RFC's own place for two of the settings. */
const DIALECTS: Readonly<Record<string, Send>> = {
  "A2A 0.3": (server, agent, settings, place = {}) => {
    const message = {
      kind: "message",
      messageId: crypto.randomUUID(),
      role: "user",
      parts: [{ kind: "text", text: "text Hi." }],
      metadata: { [SETTINGS]: settings },
      ...place,
    };
    return post(server, `/agents/${agent}/`, {
      jsonrpc: "2.0",
      id: 1,
      method: "message/send",
      params: { message },
    });
  },
  "A2A 0.3, HTTP+JSON": (server, agent, settings) =>
    post(server, `/agents/${agent}/v1/message:send`, {
      message: {
        messageId: crypto.randomUUID(),
        role: "ROLE_USER",
        content: [{ text: "text Hi." }],
        metadata: { [SETTINGS]: settings },
      },
    }),
  "A2A 1.0, JSON-RPC": (server, agent, settings) =>
    post(
      server,
      "/",
      {
        jsonrpc: "2.0",
        id: 1,
        method: "SendMessage",
        params: {
          tenant: agent,
          message: {
            messageId: crypto.randomUUID(),
            role: "ROLE_USER",
            parts: [{ text: "text Hi." }],
            metadata: { [SETTINGS]: settings },
          },
        },
      },
      { "a2a-version": "1.0" },
    ),
  "A2A 1.0, gRPC": async ({ url, token }, agent, settings) => {
    const transport = createGrpcTransport({
      baseUrl: url,
      interceptors: [bearerInterceptor(token)],
    });
    const text = { content: { case: "text" as const, value: "text Hi." } };
    const message = {
      messageId: crypto.randomUUID(),
      role: A2aRole.USER,
      parts: [text],
      metadata: { [SETTINGS]: settings },
    };
    return createClient(A2AService, transport)
      .sendMessage({ tenant: agent, message })
      .then(JSON.stringify, (error: unknown) => String(error));
  },
  "A2A 1.0, HTTP+JSON": (server, agent, settings) =>
    post(
      server,
      "/message:send",
      {
        tenant: agent,
        message: {
          messageId: crypto.randomUUID(),
          role: "ROLE_USER",
          parts: [{ text: "text Hi." }],
          metadata: { [SETTINGS]: settings },
        },
      },
      { "a2a-version": "1.0" },
    ),
  Connect: (server, agent, settings) =>
    post(server, "/devtool.v1alpha.TaskService/SendMessage", {
      message: {
        messageId: crypto.randomUUID(),
        parts: [{ text: "text Hi." }],
      },
      sessionSettings: { ...settings, agent },
    }),
  "AG-UI": (server, agent, settings) =>
    post(server, "/ag-ui", {
      threadId: crypto.randomUUID(),
      runId: "r1",
      state: {},
      messages: [
        { id: crypto.randomUUID(), role: "user", content: "text Hi." },
      ],
      tools: [],
      context: [],
      forwardedProps: {
        devtool: { sessionSettings: { ...settings, agent } },
      },
    }).then((text) =>
      text
        .replaceAll("\\", "")
        .replace(
          /devtool\.sessionSettings\.(\w+)/,
          (_all, name) => NAMES[name] ?? name,
        ),
    ),
  "the RFC's AgentSettings": (server, agent, settings, place = {}) => {
    const { allowedTools, mcpServers, ...others } = settings;
    const message = {
      kind: "message",
      messageId: crypto.randomUUID(),
      role: "user",
      parts: [{ kind: "text", text: "text Hi." }],
      metadata: {
        [EXT]: JSON.parse(
          JSON.stringify({
            allowed_tools: allowedTools,
            mcp_servers: mcpServers,
          }),
        ),
        [SETTINGS]: others,
      },
      ...place,
    };
    return post(server, `/agents/${agent}/`, {
      jsonrpc: "2.0",
      id: 1,
      method: "message/send",
      params: { message },
    });
  },
};

/** How the errors of AG-UI name settings, and those of the others. */
const NAMES: Readonly<Record<string, string>> = {
  approvalMode: "session_settings.approval_mode",
  agentOptions: "session_settings.agent_options",
  allowedTools: "allowed_tools",
  mcpServers: "mcp_servers",
};

async function post(
  { url, token }: DevtoolServer,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<string> {
  const response = await postJson({ url, token }, path, body, headers);
  const text = await response.text();
  return text.replaceAll('\\"', '"');
}
