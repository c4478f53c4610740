import { codingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { mcp } from "@devtool/mcp/server";
import { AuditAction } from "@devtool/schema";
import {
  createServer,
  type DevtoolServer,
  defaultDialects,
} from "@devtool/server";
import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIssuer, type Issuer } from "../auth/issuer.ts";
import { clientOf } from "../client-of.ts";
import { connectHost, type HostOptions } from "./host.ts";
import { modernRequest } from "./modern-request.ts";

describe("the callers of MCP", () => {
  let issuer: Issuer;
  let server: DevtoolServer;
  const clients: Client[] = [];
  beforeAll(async () => {
    issuer = await createIssuer();
    server = await createServer({
      agents: { one: codingAgent({}), two: codingAgent({}) },
      workspace: temporaryDirectory(),
      dialects: [mcp(), ...defaultDialects()],
      authentication: {
        roles: [
          { role: "devs", rights: ["run"], agents: ["one"] },
          { role: "leads", rights: ["run", "approve", "audit"] },
        ],
        jwt: { ...issuer.options, rolesClaim: "groups" },
      },
    });
  });
  afterAll(async () => {
    for (const client of clients) await client.close();
    await server.close();
  });
  const tokenOf = (name: string, ...groups: string[]): Promise<string> =>
    issuer.tokenFor(name, undefined, { groups });
  const connect = async (
    token: string,
    options: Partial<HostOptions> = {},
  ): Promise<Client> => {
    const client = await connectHost(server, {
      era: "legacy",
      token,
      ...options,
    });
    clients.push(client);
    return client;
  };
  const asks = async (client: Client) => {
    const { structuredContent } = await client.callTool({
      name: "agent_one",
      arguments: { prompt: "write a.txt hello" },
    });
    return Object(structuredContent);
  };

  it("have their rights: who may not approve cannot, by a tool or by a form", async () => {
    const dev = await tokenOf("ada", "devs");
    const { taskId, questions } = await asks(await connect(dev));
    const refused = await (await connect(dev)).callTool({
      name: "task_answer",
      arguments: {
        taskId,
        question: questions[0].id,
        option: "proceed_once",
      },
    });
    expect(JSON.stringify(refused)).toContain("is missing");
    const answered = await (
      await connect(dev, {
        answer: () => ({
          action: "accept",
          content: { answer: "proceed_once" },
        }),
      })
    ).callTool({ name: "task_wait", arguments: { taskId } });
    expect(JSON.stringify(answered)).toContain("is missing");
    const token = await tokenOf("ada", "leads");
    const lead = await connect(token);
    const done = await lead.callTool({
      name: "task_answer",
      arguments: { taskId, question: questions[0].id, option: "proceed_once" },
    });
    expect(done.structuredContent).toMatchObject({ state: "completed" });
    const { audit } = clientOf({ url: server.url, token });
    const records = await Array.fromAsync(
      audit.readAudit({ taskId }),
      ({ record }) => record,
    );
    expect(records).toContainEqual(
      expect.objectContaining({
        principal: expect.stringContaining("ada"),
        toolName: "write_file",
        action: AuditAction.APPROVED,
        optionId: "proceed_once",
      }),
    );
  });

  it("use the agents of their roles alone", async () => {
    const client = await connect(await tokenOf("ada", "devs"));
    const refused = await client.callTool({
      name: "agent_two",
      arguments: { prompt: "text Hi." },
    });
    expect(JSON.stringify(refused)).toContain("not permitted to your roles");
    const two = await connect(await tokenOf("ada", "leads"), {
      path: "/agents/two/mcp",
    });
    const { tools } = await two.listTools();
    expect(tools[0]?.name).toBe("agent_two");
    expect(tools.map(({ name }) => name)).not.toContain("agent_one");
  });

  it("find no task of another, whatever they send back as the state of a call", async () => {
    const { taskId, questions } = await asks(
      await connect(await tokenOf("ada", "leads")),
    );
    const eve = { url: server.url, token: await tokenOf("eve", "leads") };
    const approve = { action: "accept", content: { answer: "proceed_once" } };
    const inputResponses = { [questions[0].id]: approve };
    const args = { taskId };
    const requests = [
      { method: "tools/call", params: { name: "task_wait", arguments: args } },
      {
        method: "tools/call",
        params: {
          name: "agent_one",
          arguments: { prompt: "text Hi." },
          requestState: taskId,
          inputResponses,
        },
      },
      { method: "tasks/get", params: args },
      { method: "tasks/update", params: { ...args, inputResponses } },
      { method: "tasks/cancel", params: args },
      {
        method: "resources/read",
        params: { uri: `devtool://tasks/${taskId}` },
      },
    ];
    for (const request of requests) {
      const { answer } = await modernRequest(eve, request);
      expect([request.method, JSON.stringify(answer)]).toEqual([
        request.method,
        expect.stringMatching(/does not exist|not found/i),
      ]);
    }
    const own = await connect(eve.token);
    expect((await own.listResources()).resources).toEqual([]);
  });

  it("have no part in the session of another", async () => {
    const session = await beginSession(await tokenOf("ada", "leads"));
    const list = (token: string, id: string) =>
      post(token, { jsonrpc: "2.0", id: 2, method: "tools/list" }, id);
    expect((await list(await tokenOf("ada", "leads"), session)).status).toBe(
      200,
    );
    const eve = await tokenOf("eve", "leads");
    const answers = [await list(eve, session), await list(eve, "no-session")];
    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
    expect(await answers[0]?.text()).toBe(await answers[1]?.text());
  });

  it("end their oldest session with the 65th, and nobody else's", async () => {
    const [ada, bob] = [
      await tokenOf("ada", "leads"),
      await tokenOf("bob", "leads"),
    ];
    const others = await beginSession(bob);
    const sessions: string[] = [];
    for (let count = 0; count < 65; count++) {
      sessions.push(await beginSession(ada));
    }
    const list = (token: string, id = "") =>
      post(token, { jsonrpc: "2.0", id: 2, method: "tools/list" }, id);
    expect((await list(ada, sessions[0])).status).toBe(404);
    expect((await list(ada, sessions.at(-1))).status).toBe(200);
    expect((await list(bob, others)).status).toBe(200);
  });

  const post = (token: string, message: object, session = "") =>
    fetch(`${server.url}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${token}`,
        ...(session !== "" && { "mcp-session-id": session }),
      },
      body: JSON.stringify(message),
    });
  const beginSession = async (token: string): Promise<string> => {
    const response = await post(token, {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "raw", version: "1" },
      },
    });
    await response.text();
    return response.headers.get("mcp-session-id") ?? "";
  };
});
