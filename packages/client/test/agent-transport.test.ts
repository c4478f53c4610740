import { create } from "@bufbuild/protobuf";
import {
  Code,
  createRouterTransport,
  type Transport,
} from "@connectrpc/connect";
import { EXTENSION_URI } from "@devtool/schema";
import {
  A2AService,
  A2aTaskState,
  type AgentCard,
  AgentCardSchema,
} from "@devtool/schema/a2a-v1";
import { describe, expect, it } from "vitest";
import { createAgentTransport } from "../src/a2a.ts";
import { createDevtoolClient, textMessage } from "../src/index.ts";
import { json, startRecordedAgent } from "./recorded-agent.ts";

const TASK_V1 = {
  id: "t1",
  contextId: "c1",
  status: { state: "TASK_STATE_WORKING" },
};
const TASK_V03 = {
  kind: "task",
  id: "t1",
  contextId: "c1",
  status: { state: "working" },
};

/** Answers with a JSON-RPC response. */
function rpcAnswer(task: object) {
  return json({ jsonrpc: "2.0", id: 1, result: task });
}

function cardOf(...offers: readonly [string, string, string][]): AgentCard {
  const supportedInterfaces = offers.map(
    ([protocolVersion, protocolBinding, url]) => ({
      protocolVersion,
      protocolBinding,
      url,
    }),
  );
  return create(AgentCardSchema, { name: "agent", supportedInterfaces });
}

describe("the interface that is chosen from a card", () => {
  it("is the first supported one of 1.0, before any of 0.3", async () => {
    await using agent = await startRecordedAgent(json(TASK_V1));
    const card = cardOf(
      ["0.3", "JSONRPC", agent.url],
      ["2.0", "JSONRPC", agent.url],
      ["1.0", "GRPC", "127.0.0.1:1"],
      ["1.0", "SOMETHING", agent.url],
      ["1.0", "HTTP+JSON", `${agent.url}rest/`],
      ["1.0", "JSONRPC", agent.url],
    );
    const { tasks } = createDevtoolClient(createAgentTransport(card, agent));
    await tasks.getTask({ taskId: "t1" });
    expect(agent.requests).toMatchObject([
      { method: "GET", url: "/rest/tasks/t1" },
    ]);
  });

  it("is one of 0.3 if there is no other", async () => {
    await using agent = await startRecordedAgent(rpcAnswer(TASK_V03));
    const { tasks } = createDevtoolClient(
      createAgentTransport(cardOf(["0.3.0", "JSONRPC", agent.url]), agent),
    );
    await tasks.getTask({ taskId: "t1" });
    expect(agent.requests[0]?.body.method).toBe("tasks/get");
  });

  it("is HTTP+JSON if an agent of 0.3 has no other, below `/v1/` of its address", async () => {
    await using agent = await startRecordedAgent(json(TASK_V1));
    const card = cardOf(
      ["0.3", "GRPC", agent.url],
      ["0.3", "HTTP+JSON", `${agent.url}agent/`],
    );
    const { tasks } = createDevtoolClient(createAgentTransport(card, agent));
    await tasks.getTask({ taskId: "t1" });
    expect(agent.requests).toMatchObject([
      { method: "GET", url: "/agent/v1/tasks/t1" },
    ]);
  });

  it.each([
    ["1.0", "jsonrpc"],
    ["", "JSON-RPC"],
    ["", "JSONRPC"],
  ])("is found in the form of others: %j over %s", async (version, binding) => {
    await using agent = await startRecordedAgent(rpcAnswer(TASK_V1));
    const card = cardOf([version, binding, agent.url]);
    const { tasks } = createDevtoolClient(createAgentTransport(card, agent));
    await tasks.getTask({ taskId: "t1" });
    expect(agent.requests[0]?.body.method).toBe("GetTask");
  });

  it("B20: is at the host of the card if it names the address 0.0.0.0", async () => {
    await using agent = await startRecordedAgent(rpcAnswer(TASK_V03));
    const card = cardOf([
      "0.3",
      "JSONRPC",
      agent.url.replace("127.0.0.1", "0.0.0.0"),
    ]);
    const { tasks } = createDevtoolClient(createAgentTransport(card, agent));
    await tasks.getTask({ taskId: "t1" });
    expect(agent.requests[0]?.headers.host).toContain("127.0.0.1");
  });

  it("is told of those that cannot be used, but for A2A's own of other clients", () => {
    const url = "https://a.example/";
    const card = cardOf(
      ["9.9", "JSONRPC", url],
      ["1.0", "SOMETHING", url],
      ["1.0", "JSONRPC", "http://["],
      ["1.0", "JSONRPC", ""],
      ["1.0", "JSONRPC", "http://b.example/"],
      ["0.3", "GRPC", url],
      ["0.3", "JSONRPC", url],
    );
    const told: string[] = [];
    const onLeftOut = (why: string): unknown => told.push(why);
    createAgentTransport(card, { url, token: "secret", onLeftOut });
    expect(
      told.map((why) => why.replace("an interface that cannot be used: ", "")),
    ).toEqual([
      `9.9 over JSONRPC at ${url}`,
      `1.0 over SOMETHING at ${url}`,
      "1.0 over JSONRPC at http://[",
      "1.0 over JSONRPC at ",
      "1.0 over JSONRPC at http://b.example/",
    ]);
  });

  it("is called with its tenant", async () => {
    await using agent = await startRecordedAgent(rpcAnswer(TASK_V1));
    const card = cardOf(["1.0", "JSONRPC", agent.url]);
    const supportedInterfaces = card.supportedInterfaces.map((item) => ({
      ...item,
      tenant: "acme",
    }));
    const { tasks } = createDevtoolClient(
      createAgentTransport({ ...card, supportedInterfaces }, agent),
    );
    await tasks.getTask({ taskId: "t1" });
    expect(agent.requests[0]?.body).toMatchObject({
      method: "GetTask",
      params: { id: "t1", tenant: "acme" },
    });
  });

  it("is gRPC if there is a transport for it, with the scheme of the card", async () => {
    const asked: string[] = [];
    const grpc = (baseUrl: string): Transport => {
      asked.push(baseUrl);
      const task = { id: "t1", status: { state: A2aTaskState.WORKING } };
      return createRouterTransport(({ service }) =>
        service(A2AService, { getTask: () => task }),
      );
    };
    const card = cardOf(
      ["1.0", "GRPC", "example.com:443"],
      ["1.0", "JSONRPC", "https://example.com/"],
    );
    const { tasks } = createDevtoolClient(
      createAgentTransport(card, { url: "https://example.com", grpc }),
    );
    expect((await tasks.getTask({ taskId: "t1" })).task?.id).toBe("t1");
    expect(asked).toEqual(["https://example.com/"]);
  });

  it.each([
    { uris: [], header: undefined, taskId: undefined },
    { uris: [EXTENSION_URI], header: EXTENSION_URI, taskId: "t1" },
  ])(
    "activates the extension if the card lists it ($uris.length), which lets ended tasks continue",
    async (row) => {
      const ended = { ...TASK_V03, status: { state: "completed" } };
      await using agent = await startRecordedAgent(rpcAnswer(ended));
      const extensions = row.uris.map((uri) => ({ uri }));
      const supportedInterfaces = [
        { protocolVersion: "0.3", protocolBinding: "JSONRPC", url: agent.url },
      ];
      const card = create(AgentCardSchema, {
        supportedInterfaces,
        capabilities: { extensions },
      });
      const { tasks } = createDevtoolClient(createAgentTransport(card, agent));
      await tasks.getTask({ taskId: "t1" });
      await tasks.sendMessage({
        message: textMessage("m", "more"),
        taskId: "t1",
      });
      const sent = agent.requests[1];
      expect(sent?.headers["x-a2a-extensions"]).toBe(row.header);
      const { message } = Object(sent?.body.params);
      expect([message.taskId, message.contextId]).toEqual([
        row.taskId,
        row.taskId === undefined ? "c1" : undefined,
      ]);
    },
  );

  it.each([
    [
      "what it follows",
      { uri: EXTENSION_URI, params: { follows: ["model"] } },
      ["model"],
    ],
    ["all settings as far as is known", { uri: EXTENSION_URI }, undefined],
    ["none without the extension", { uri: "https://example.com/x" }, []],
  ])(
    "N1: lists its agent, which follows %s",
    async (_, extension, settings) => {
      const url = "http://127.0.0.1:1";
      const card = create(AgentCardSchema, {
        name: "agent",
        supportedInterfaces: [
          { protocolVersion: "1.0", protocolBinding: "JSONRPC", url },
        ],
        capabilities: { extensions: [extension] },
      });
      const { agents } = createDevtoolClient(
        createAgentTransport(card, { url }),
      );
      const [listed] = (await agents.listAgents({})).agents;
      expect([listed?.displayName, listed?.follows?.settings]).toEqual([
        "agent",
        settings,
      ]);
    },
  );

  it("is refused for an agent with an incompatible version of the extension (CARD-2)", () => {
    const extensions = [{ uri: EXTENSION_URI.replace("/v0/", "/v9/") }];
    const card = create(AgentCardSchema, { capabilities: { extensions } });
    expect(() => createAgentTransport(card, { url: "http://a/" })).toThrow(
      expect.objectContaining({
        code: Code.FailedPrecondition,
        rawMessage: expect.stringContaining("9.0.0"),
      }),
    );
  });

  it("may not exist: the error lists what the agent offers and what is supported", () => {
    const card = cardOf(
      ["1.0", "GRPC", "127.0.0.1:1"],
      ["0.3", "GRPC", "http://a/"],
    );
    expect(() => createAgentTransport(card, { url: "http://a/" })).toThrow(
      expect.objectContaining({
        code: Code.FailedPrecondition,
        rawMessage: expect.stringMatching(
          /1\.0 over GRPC at 127\.0\.0\.1:1, 0\.3 over GRPC at http:\/\/a\/: choose/,
        ),
      }),
    );
    expect(() => createAgentTransport(cardOf(), { url: "http://a/" })).toThrow(
      "offers nothing",
    );
  });

  it.each([
    {
      name: "plain HTTP to another host",
      url: "http://a.example/",
      target: "http://b.example/",
      taken: false,
    },
    {
      name: "plain HTTP where the card came over HTTPS",
      url: "https://a/",
      target: "http://a/",
      taken: false,
    },
    {
      name: "another port of the same host",
      url: "http://127.0.0.1:1/",
      target: "http://127.0.0.1:2/",
      taken: true,
    },
    {
      name: "HTTPS to another host",
      url: "http://a.example/",
      target: "https://b.example/",
      taken: true,
    },
    ...["localhost", "127.0.0.1", "127.8.8.8", "[::1]", "0.0.0.0", "[::]"].map(
      (host) => ({
        name: `B20: ${host} in the card of localhost`,
        url: "http://localhost:1/",
        target: `http://${host}:2/`,
        taken: true,
      }),
    ),
    {
      name: "B20: the loopback interface in the card of another host",
      url: "http://a.example/",
      target: "http://127.0.0.1/",
      taken: false,
    },
    {
      name: "an invalid address",
      url: "http://a.example/",
      target: "http://[",
      taken: false,
    },
  ])("with a token: $name (taken: $taken)", ({ url, target, taken }) => {
    const card = cardOf(["1.0", "JSONRPC", target]);
    const made = (): unknown =>
      createAgentTransport(card, { url, token: "secret" });
    if (taken) {
      expect(made).not.toThrow();
    } else {
      expect(made).toThrow(/^\[failed_precondition\] a token is sent only/);
    }
  });
});
