import { writeFile } from "node:fs/promises";
import { createServer as createHttpServer, type Server } from "node:http";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { type DevtoolClient, textMessage } from "@devtool/client";
import { listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { Role, type Task } from "@devtool/schema";
import {
  type Agent,
  createServer,
  type DevtoolServer,
  type ServerOptions,
} from "@devtool/server";
import type { AgentEvent } from "@devtool/server/agent";
import { meshAgent, readMesh } from "@devtool/workflow";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createIssuer } from "../auth/issuer.ts";
import { clientOf } from "../client-of.ts";
import { postJson } from "../post-json.ts";

const MESH = `
agents:
  - name: helper
    registered_by: local
    skills: [help]
  - name: partner-one
  - name: twin
otherwise: [helper]
`;
/** The agents of these tests are on this machine. */
const targets = ["127.0.0.1:*"];

function sayingAgent(name: string): Agent {
  return {
    about: { name, description: `Paints ${name} houses.` },
    open: () => ({
      createExecutor: () => ({
        async *execute(turn): AsyncIterable<AgentEvent> {
          yield* turn.say(`${name} has it`);
        },
      }),
    }),
  };
}

describe("agents that are registered, or in catalogs of others", () => {
  const servers: DevtoolServer[] = [];
  const sockets: Server[] = [];
  let data: string;
  let far: DevtoolServer;
  let notices: string[];

  beforeEach(async () => {
    data = temporaryDirectory();
    notices = [];
    far = await serve({
      one: sayingAgent("one"),
      two: sayingAgent("two"),
    });
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) {
      socket.closeAllConnections();
      socket.close();
    }
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });

  async function serve(
    agents: Readonly<Record<string, Agent>>,
    options: Partial<ServerOptions> = {},
  ): Promise<DevtoolServer> {
    const workspace = temporaryDirectory();
    const server = await createServer({ agents, workspace, ...options });
    servers.push(server);
    return server;
  }

  function front(
    agentRegistry: ServerOptions["agentRegistry"] = { targets },
    options: Partial<ServerOptions> = {},
  ): Promise<DevtoolServer> {
    return serve(
      {
        front: meshAgent(readMesh(MESH, "front.mesh.yaml")),
        twin: sayingAgent("our twin"),
      },
      {
        dataDirectory: data,
        onNotice: (text) => void notices.push(text),
        agentRegistry,
        ...options,
      },
    );
  }

  async function ask(client: DevtoolClient, text: string): Promise<string> {
    const message = textMessage(crypto.randomUUID(), text);
    const { task } = await client.tasks.sendMessage({ message });
    return saidBy(task);
  }

  async function search(server: DevtoolServer): Promise<unknown[]> {
    const response = await postJson(server, "/search", {
      query: { text: "paints houses" },
    });
    const { results } = objectOrEmpty(await response.json());
    return listOrEmpty(results).map((one) => objectOrEmpty(one));
  }

  const helper = () => ({
    name: "helper",
    url: `${far.url}/agents/two`,
    description: "Paints houses.",
    token: far.token,
  });

  it("get the messages of a mesh that names who registered them, over a restart, until they leave", async () => {
    const before = await front();
    expect(await ask(clientOf(before), "hello")).toMatch(
      /^error: agent "helper" cannot be called/,
    );
    await clientOf(before).agents.registerAgent(helper());
    expect(await ask(clientOf(before), "hello")).toBe("two has it");
    await before.close();
    const after = await front();
    expect(await ask(clientOf(after), "hello")).toBe("two has it");
    expect(await search(after)).toContainEqual(
      expect.objectContaining({
        identifier: "urn:air:127.0.0.1:found:helper",
        displayName: 'helper (registered by "local")',
        url: `${far.url}/agents/two/.well-known/agent-card.json`,
        source: after.url,
      }),
    );
    await clientOf(after).agents.unregisterAgent({ name: "helper" });
    expect(await ask(clientOf(after), "hello")).toMatch(/^error: /);
  });

  it("hide no others where their file cannot be read, and a notice says so once", async () => {
    await writeFile(join(data, "registered-agents.json"), "{");
    const server = await front();
    for (let round = 0; round < 2; round++) {
      expect(await search(server)).toEqual([
        expect.objectContaining({
          identifier: "urn:air:127.0.0.1:agent:twin",
        }),
      ]);
    }
    expect(notices.filter((text) => text.includes("cannot be read"))).toEqual([
      expect.stringContaining("registered-agents.json"),
    ]);
    await expect(
      clientOf(server).agents.registerAgent(helper()),
    ).rejects.toThrow("repair or remove it");
  });

  it("are registered by whom has the right, get nothing in place of another's, and are shown to whom they belong", async () => {
    const issuer = await createIssuer();
    const server = await front(
      { targets },
      {
        authentication: {
          jwt: { ...issuer.options, rolesClaim: "groups" },
          roles: [
            { role: "builders", rights: ["register", "read"] },
            { role: "others", rights: ["run", "read"] },
          ],
        },
      },
    );
    const as = async (subject: string, group: string) =>
      clientOf({
        url: server.url,
        token: await issuer.tokenFor(subject, undefined, { groups: [group] }),
      });
    const eve = await as("eve", "builders");
    const bob = await as("bob", "others");
    const missing = { code: Code.PermissionDenied };
    await expect(bob.agents.registerAgent(helper())).rejects.toMatchObject(
      missing,
    );
    await expect(
      bob.agents.unregisterAgent({ name: "helper" }),
    ).rejects.toMatchObject(missing);
    for (const name of ["front", "Twin", "TW_IN"]) {
      await expect(
        eve.agents.registerAgent({ ...helper(), name }),
      ).rejects.toMatchObject({ code: Code.AlreadyExists });
    }
    await eve.agents.registerAgent(helper());
    // The mesh names another principal, and "twin" is the operator's.
    expect(await ask(clientOf(server), "hello")).toMatch(
      /^error: agent "helper" cannot be called/,
    );
    expect(await ask(clientOf(server), "@twin hello")).toBe("our twin has it");
    const namesFor = async (client: DevtoolClient) => {
      const { agents } = await client.agents.listFoundAgents({});
      return agents.map(({ name }) => name);
    };
    expect(await namesFor(clientOf(server))).toEqual(["helper"]);
    expect(await namesFor(eve)).toEqual(["helper"]);
    expect(await namesFor(bob)).toEqual([]);
  });

  it("are not called at addresses that the operator did not permit", async () => {
    const server = await front({});
    await clientOf(server).agents.registerAgent(helper());
    expect(await ask(clientOf(server), "hello")).toMatch(
      /agent_registry\.targets = \["127\.0\.0\.1:\d+"\]/,
    );
    // The server itself is nobody's agent, even where all ports are permitted.
    const open = await front({ targets }, { dataDirectory: undefined });
    await clientOf(open).agents.registerAgent({
      ...helper(),
      url: `${open.url}/agents/twin`,
      token: open.token,
    });
    expect(await ask(clientOf(open), "hello")).toContain("is this server");
  });

  it("are called only with a card that a key of the operator's has signed, where there are keys", async () => {
    const published = await fetch(`${far.url}/.well-known/jwks.json`);
    const jwks: { readonly keys: JWK[] } = JSON.parse(await published.text());
    const { publicKey } = await generateKeyPair("ES256");
    const other = { keys: [{ ...(await exportJWK(publicKey)), alg: "ES256" }] };
    for (const [keys, said] of [
      [jwks, /^two has it$/],
      [other, /^error: .*sign/],
    ] as const) {
      const server = await front(
        { targets, keys },
        { dataDirectory: undefined },
      );
      await clientOf(server).agents.registerAgent(helper());
      expect(await ask(clientOf(server), "hello")).toMatch(said);
    }
  });

  it("whose card names another address get no token there", async () => {
    const tokens: unknown[] = [];
    const elsewhere = await listen((request, response) => {
      tokens.push(request.headers.authorization);
      response.writeHead(404).end();
    });
    const path = "/agents/two/.well-known/agent-card.json";
    const card = await (await fetch(`${far.url}${path}`)).text();
    const url = await listen((_, response) => {
      response.end(card.replaceAll(far.url, elsewhere));
    });
    const server = await front();
    await clientOf(server).agents.registerAgent({ ...helper(), url });
    expect(await ask(clientOf(server), "hello")).toMatch(/^error: /);
    expect(tokens).toEqual([undefined]);
  });

  it("of a catalog have its name in front, and get its token at its own address alone", async () => {
    const catalogs = [{ name: "partner", url: far.url, token: far.token }];
    const server = await front({ catalogs });
    const client = clientOf(server);
    expect(await ask(client, "@partner-one hello")).toBe("one has it");
    expect(await search(server)).toContainEqual(
      expect.objectContaining({
        displayName: 'partner-two (of the catalog "partner")',
      }),
    );
    expect(notices).toEqual([]);
  });

  it("of a catalog at another address get none of its token, and are at most 100", async () => {
    const tokens: unknown[] = [];
    const elsewhere = await listen((request, response) => {
      tokens.push(request.headers.authorization);
      if (!request.url?.includes("agent-card.json")) {
        response.writeHead(404).end();
        return;
      }
      const capabilities = { streaming: true };
      const offer = { protocolBinding: "JSONRPC", protocolVersion: "1.0" };
      const supportedInterfaces = [{ ...offer, url: elsewhere }];
      response.end(
        JSON.stringify({ name: "x", capabilities, supportedInterfaces }),
      );
    });
    const type = "application/a2a-agent-card+json";
    const entries = Array.from({ length: 101 }, (_, index) => ({
      ...{ identifier: `urn:air:x:agent:${index || "one"}`, type },
      url: elsewhere,
    }));
    const url = await listen((_, response) => {
      response.end(JSON.stringify({ specVersion: "1.0", entries }));
    });
    const server = await front({
      targets,
      catalogs: [{ name: "partner", url, token: "t0ken" }],
    });
    const client = clientOf(server);
    expect(await ask(client, "@partner-one hello")).toMatch(/^error: /);
    expect(tokens.length).toBeGreaterThan(1);
    expect(new Set(tokens)).toEqual(new Set([undefined]));
    const { agents } = await client.agents.listFoundAgents({});
    expect(agents).toHaveLength(100);
    expect(notices).toEqual([
      'agent "urn:air:x:agent:100" of catalog "partner" is left out: the catalog has more than 100',
    ]);
  });

  it("of a catalog keep the query of their URL behind the path of their card", async () => {
    const path = "/.well-known/agent-card.json";
    const type = "application/a2a-agent-card+json";
    const entries = ["", "/one/", path].map((own, index) => ({
      ...{ identifier: `urn:air:x:agent:n${index}`, type },
      ...{ url: `https://x.example${own}?t=1`, description: "Paints houses." },
    }));
    const url = await listen((_, response) => {
      response.end(JSON.stringify({ specVersion: "1.0", entries }));
    });
    const server = await front({ catalogs: [{ name: "partner", url }] });
    const urls = (await search(server)).map((one) => objectOrEmpty(one).url);
    expect(urls).toEqual(
      expect.arrayContaining([
        `https://x.example${path}?t=1`,
        `https://x.example/one${path}?t=1`,
      ]),
    );
    expect(urls.join()).not.toContain(`${path}${path}`);
  });

  it("of a hostile catalog cost only themselves, and lead nowhere", async () => {
    const requests: unknown[] = [];
    const card = "application/a2a-agent-card+json";
    const long = "x".repeat(60);
    const entries = [
      7,
      { identifier: "urn:air:x:agent:one", type: card, url: far.url },
      { identifier: "urn:air:x:agent:ONE", type: card, url: far.url },
      { identifier: "urn:air:x:agent:file", type: card, url: "file:///etc" },
      { identifier: `urn:air:x:agent:${long}`, type: card, url: far.url },
      { identifier: "urn:air:x:agent:odd", type: card, url: 7 },
      { identifier: { toString: 1 }, type: card, url: far.url },
      { identifier: "urn:air:x:mcp:tool", type: "application/mcp+json" },
    ];
    const url = await listen((request, response) => {
      requests.push(request.headers.authorization);
      response.end(JSON.stringify({ specVersion: "1.0", entries }));
    });
    const huge = await listen((_, response) => {
      response.end("x".repeat(2 * 1024 * 1024));
    });
    const moved = await listen((_, response) => {
      response.writeHead(302, { location: far.url }).end();
    });
    const server = await front({
      catalogs: [
        { name: "partner", url, token: "t0ken" },
        { name: "huge", url: huge },
        { name: "moved", url: moved },
      ],
    });
    const { agents } = await clientOf(server).agents.listFoundAgents({});
    expect(agents.map(({ name }) => name)).toEqual(["partner-one"]);
    await clientOf(server).agents.listFoundAgents({});
    expect(requests).toEqual([undefined]);
    const about = (word: string) =>
      notices.filter((text) => text.includes(word)).length;
    expect(
      ["ONE", "file", long, "odd", '"huge"', '"moved"'].map(about),
    ).toEqual(Array(6).fill(1));
    expect(notices).toContainEqual(
      expect.stringContaining("it is larger than 1048576 bytes"),
    );
    expect(notices).toContainEqual(
      expect.stringContaining("its status is 302"),
    );
    const many = entries.slice(3, 4).flatMap((one) => Array(500).fill(one));
    entries.splice(0, entries.length, ...many);
    const before = notices.length;
    const other = await front(
      { catalogs: [{ name: "partner", url }] },
      { dataDirectory: undefined },
    );
    await clientOf(other).agents.listFoundAgents({});
    expect(notices.slice(before)).toHaveLength(11);
    expect(notices.at(-1)).toContain("490 further agents");
    // Its address is not that of the catalog, and is not public.
    expect(await ask(clientOf(server), "@partner-one hello")).toMatch(
      /agent_registry\.targets/,
    );
  });

  it("of a catalog take no name of another catalog's agents, also while those are not there", async () => {
    const type = "application/a2a-agent-card+json";
    const catalog = (url: string, ...names: readonly string[]) =>
      listen((_, response) => {
        const entries = names.map((name) => ({
          identifier: `urn:air:x:agent:${name}`,
          type,
          url,
        }));
        response.end(JSON.stringify({ specVersion: "1.0", entries }));
      });
    const [one, two] = [`${far.url}/agents/one`, `${far.url}/agents/two`];
    const corp = {
      name: "corp",
      url: await catalog(one, "eu-pay", "EU_pay", "desk"),
    };
    const server = await front({
      catalogs: [corp, { name: "corp-eu", url: await catalog(two, "pay") }],
    });
    const client = clientOf(server);
    const { agents } = await client.agents.listFoundAgents({});
    expect(agents.map(({ name, url }) => [name, url])).toEqual([
      ["corp-desk", one],
      ["corp-eu-pay", two],
    ]);
    expect(notices).toEqual(
      ["eu-pay", "EU_pay"].map(
        (name) =>
          `agent "urn:air:x:agent:${name}" of catalog "corp" is left out: its name "corp-${name}" is for agents of catalog "corp-eu"`,
      ),
    );
    await expect(
      client.agents.registerAgent({ ...helper(), name: "Corp_eu-pay" }),
    ).rejects.toMatchObject({
      code: Code.AlreadyExists,
      message: expect.stringContaining("corp"),
    });
    const later = await front(
      { catalogs: [corp, { name: "corp-eu", url: await catalog(two) }] },
      { dataDirectory: undefined },
    );
    const alone = await clientOf(later).agents.listFoundAgents({});
    expect(alone.agents.map(({ name }) => name)).toEqual(["corp-desk"]);
  });

  async function listen(
    answer: Parameters<typeof createHttpServer>[1],
  ): Promise<string> {
    const socket = createHttpServer(answer);
    sockets.push(socket);
    await new Promise<void>((resolve) =>
      socket.listen(0, "127.0.0.1", resolve),
    );
    const address = socket.address();
    if (typeof address !== "object" || !address) throw new Error("no port");
    return `http://127.0.0.1:${address.port}`;
  }
});

function saidBy(task: Task | undefined): string {
  const said = (task?.history ?? [])
    .filter(({ role }) => role === Role.AGENT)
    .flatMap(({ parts }) =>
      parts.flatMap(({ content }) =>
        content.case === "text" ? content.value : [],
      ),
    );
  return said.join("") || `error: ${task?.error}`;
}
