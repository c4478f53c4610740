import { existsSync } from "node:fs";
import { join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  createConnectTransport,
  createGrpcTransport,
} from "@connectrpc/connect-node";
import { acpAgent } from "@devtool/acp";
import { fakeAgentCommand } from "@devtool/acp/testing";
import {
  bearerInterceptor,
  createDevtoolClient,
  type DevtoolClient,
  textMessage,
} from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  type SessionSettingsSchema,
  TaskState,
} from "@devtool/schema";
import { McpStdioSchema } from "@devtool/schema/testing";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIssuer, type Issuer } from "./issuer.ts";

type Settings = MessageInitShape<typeof SessionSettingsSchema>;

const MISSING = 'right "approve" is missing';
const OPTIONS: Settings = { agentOptions: { permission: "wild" } };
const signal = AbortSignal.timeout(120_000);

describe("the settings of a session that can do what an approval does", () => {
  let workspace: string;
  let issuer: Issuer;
  let server: DevtoolServer;
  beforeAll(async () => {
    workspace = temporaryDirectory();
    issuer = await createIssuer();
    server = await createServer({
      agents: {
        fake: acpAgent({
          name: "fake",
          command: fakeAgentCommand(),
          clientOptions: ["permission"],
        }),
      },
      workspace,
      clientMcpServers: "all",
      authentication: { jwt: { ...issuer.options, approveScope: "approve" } },
    });
  });
  afterAll(() => server.close());

  const a2a = (
    token: string,
    protocolVersion: string,
    protocolBinding: string,
  ) =>
    createDevtoolClient(
      createA2aTransport({
        url: server.url,
        token,
        protocolVersion,
        protocolBinding,
      }),
    );
  const bindings: readonly (readonly [
    string,
    (token: string) => DevtoolClient,
  ])[] = [
    ["JSON-RPC of A2A 0.3", (token) => a2a(token, "0.3", "JSONRPC")],
    ["HTTP+JSON of A2A 0.3", (token) => a2a(token, "0.3", "HTTP+JSON")],
    ["JSON-RPC of A2A 1.0", (token) => a2a(token, "1.0", "JSONRPC")],
    ["HTTP+JSON of A2A 1.0", (token) => a2a(token, "1.0", "HTTP+JSON")],
    ["Connect", overConnect],
    [
      "gRPC",
      (token) => createDevtoolClient(createGrpcTransport(optionsFor(token))),
    ],
  ];

  it.each(bindings)(
    "need the right to approve over %s, with any message",
    async (_binding, clientOf) => {
      const client = clientOf(await issuer.tokenFor("alice"));
      const { task } = await client.tasks.sendMessage({
        message: text("tell"),
      });
      for (const place of [
        {},
        { taskId: task?.id ?? "" },
        { contextId: task?.contextId ?? "" },
      ]) {
        const request = {
          message: text("tell"),
          sessionSettings: OPTIONS,
          ...place,
        };
        await expect(client.tasks.sendMessage(request)).rejects.toThrow(
          MISSING,
        );
        const stream = client.tasks.streamMessage({ request }, { signal });
        await expect(Array.fromAsync(stream)).rejects.toThrow(MISSING);
      }
      const approving = clientOf(await issuer.tokenFor("alice", "approve"));
      const { task: changed } = await approving.tasks.sendMessage({
        message: text("tell"),
        sessionSettings: OPTIONS,
      });
      expect(changed?.state).toBe(TaskState.COMPLETED);
    },
  );

  it.each(bindings)(
    "need it for an MCP server that is a command over %s",
    async (_binding, clientOf) => {
      const made = join(workspace, "made.txt");
      const value = create(McpStdioSchema, { command: "touch", args: [made] });
      const sessionSettings: Settings = {
        mcpServers: [{ name: "x", transport: { case: "stdio", value } }],
      };
      const client = clientOf(await issuer.tokenFor("alice"));
      await expect(
        client.tasks.sendMessage({ message: text("tell"), sessionSettings }),
      ).rejects.toThrow(MISSING);
      expect(existsSync(made)).toBe(false);
    },
  );

  it("need it with a slash command", async () => {
    const { commands } = overConnect(await issuer.tokenFor("alice"));
    const command = { commandPath: ["say"], args: "Hi." };
    await expect(
      commands.runSlashCommand({ command, sessionSettings: OPTIONS }),
    ).rejects.toThrow(MISSING);
  });

  it("do not need it where they only narrow", async () => {
    const { tasks } = overConnect(await issuer.tokenFor("alice"));
    const sessionSettings = { approvalMode: ApprovalMode.PLAN };
    const { task } = await tasks.sendMessage({
      message: text("tell"),
      sessionSettings,
    });
    expect(task?.state).toBe(TaskState.COMPLETED);
  });

  function overConnect(token: string): DevtoolClient {
    return createDevtoolClient(createConnectTransport(optionsFor(token)));
  }

  function optionsFor(token: string) {
    return {
      baseUrl: server.url,
      httpVersion: "2" as const,
      interceptors: [bearerInterceptor(token)],
    };
  }
});

function text(words: string) {
  return textMessage(crypto.randomUUID(), words);
}
