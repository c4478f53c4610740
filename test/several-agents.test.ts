import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnectTransport } from "@connectrpc/connect-node";
import { bearerInterceptor, createDevtoolClient, textMessage } from "@devtool/client";
import { TaskState } from "@devtool/schema";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** Returns an agent that answers each message with its name, and waits for the next one. */
function agentNamed(name: string): Agent {
  return {
    about: { name, description: `Says ${name}.`, inputModes: name === "one" ? ["text/plain"] : ["audio/*"] },
    open: () => ({
      createExecutor: () => ({
        async *execute() {
          yield { case: "end", value: { state: TaskState.INPUT_REQUIRED, text: `This is ${name}.` } };
        },
      }),
    }),
  };
}

const agents = { one: agentNamed("one"), two: agentNamed("two") };
const UNKNOWN = "choose one, two";

describe("a server of several agents", () => {
  let server: DevtoolServer;
  let dataDirectory: string;
  beforeAll(async () => {
    dataDirectory = await mkdtemp(join(tmpdir(), "devtool-agents-"));
    server = await createServer({ agents, workspace: process.cwd(), dataDirectory });
  });
  afterAll(async () => {
    await server.close();
    await rm(dataDirectory, { recursive: true });
  });

  it.each([
    ["", "one"],
    ["/one", "one"],
    ["/two", "two"],
    ["/two%2Facme", "two"],
  ])("is called over A2A 1.0 with the tenant %j, which names agent %s", async (tenant, name) => {
    const { json } = await post(`${tenant}/message:send`, { message: greeting("ROLE_USER") }, V1);
    expect(json.task.status.message.parts[0].text).toBe(`This is ${name}.`);
  });

  it.each(["", "/one", "/two"])(
    "refuses no media type for the tenant %j because of the default agent",
    async (tenant) => {
      const audio = { raw: "AAAA", mediaType: "audio/wav" };
      const { json } = await post(
        `${tenant}/message:send`,
        { message: { ...greeting("ROLE_USER"), parts: [audio] } },
        V1,
      );
      expect(json.task?.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    },
  );

  it("keeps the tenants of an agent apart, as a server with a single agent does", async () => {
    const { json } = await post("/two%2Facme/message:send", { message: greeting("ROLE_USER") }, V1);
    expect((await get(`/two%2Facme/tasks/${json.task.id}`, V1)).status).toBe(200);
    for (const tenant of ["/two", "/two%2Fother", ""]) {
      expect((await get(`${tenant}/tasks/${json.task.id}`, V1)).status).toBe(404);
    }
  });

  it("lists its agents to clients that name an unknown one, by tenant, path and settings", async () => {
    const { status, json } = await post("/three/message:send", { message: greeting("ROLE_USER") }, V1);
    expect([status, json.error.message]).toEqual([400, expect.stringContaining(UNKNOWN)]);
    expect((await post("/agents/three", {})).status).toBe(404);
    await expect(send("three")).rejects.toThrow(UNKNOWN);
  });

  it("is called over A2A 0.3 at a path for each agent, by both bindings", async () => {
    for (const name of ["one", "two"]) {
      const params = { message: { ...greeting("user"), parts: [{ kind: "text", text: "Hi." }] } };
      const { json } = await post(`/agents/${name}`, { jsonrpc: "2.0", id: 1, method: "message/send", params });
      expect(json.result.status.message.parts[0].text).toBe(`This is ${name}.`);
      const rest = await post(`/agents/${name}/v1/message:send`, {
        message: { messageId: crypto.randomUUID(), role: "ROLE_USER", content: [{ text: "Hi." }] },
        configuration: { blocking: true },
      });
      expect(rest.json.task.status.message.content[0].text).toBe(`This is ${name}.`);
    }
  });

  it("has a card for each agent, with the URL of the agent", async () => {
    const { json } = await get("/agents/two/.well-known/agent-card.json");
    expect(json).toMatchObject({ name: "two", url: `${server.url}/agents/two/`, skills: [{ name: "two" }] });
    const ofVersion1 = json.supportedInterfaces.filter(
      ({ protocolVersion }: { readonly protocolVersion: string }) => protocolVersion === "1.0",
    );
    expect(new Set(ofVersion1.map(({ tenant }: { readonly tenant: string }) => tenant))).toEqual(new Set(["two"]));
    expect((await get("/.well-known/agent-card.json")).json.name).toBe("one");
    expect((await get("/two/extendedAgentCard", V1)).json.name).toBe("two");
  });

  it("keeps the agent of a session: it may be named again, and no other one", async () => {
    const begun = await send("two");
    expect(begun.sessionSettings?.agent).toBe("two");
    const again = { taskId: begun.id, contextId: begun.contextId };
    expect(wordsOf(await send("", again))).toBe("This is two.");
    expect(wordsOf(await send("two", again))).toBe("This is two.");
    await expect(send("one", again)).rejects.toThrow('this session belongs to agent "two"');
    await expect(send("one", { contextId: begun.contextId })).rejects.toThrow('this session belongs to agent "two"');
  });

  it("continues with the same agent after a restart, whichever is the default then, and reports when it is gone", async () => {
    const chosen = await send("two");
    const byDefault = await send("");
    await server.close();
    server = await createServer({ agents, defaultAgent: "two", workspace: process.cwd(), dataDirectory });
    expect(wordsOf(await send("", { taskId: byDefault.id }))).toBe("This is one.");
    expect(wordsOf(await send("", { taskId: chosen.id }))).toBe("This is two.");
    await server.close();
    server = await createServer({ agents: { one: agents.one }, workspace: process.cwd(), dataDirectory });
    const failed = await send("", { taskId: chosen.id });
    expect([failed.state, failed.error]).toEqual([TaskState.FAILED, 'agent "two" is not served here: choose one']);
    await server.close();
    server = await createServer({ agents, workspace: process.cwd(), dataDirectory });
  });

  it.each([
    [{ agents: {} }, "default_agent is not one of the agents: choose one"],
    [{ agents, defaultAgent: "three" }, 'default_agent "three" is not one of the agents: choose one, two'],
    [{ agents: { "a/b": agents.one } }, 'agents "a/b" is not a name'],
  ])("does not start with contradictory options: %#", async (options, problem) => {
    await expect(createServer(options)).rejects.toThrow(problem);
  });

  /** Sends a message over Connect to the agent that the session settings name. */
  async function send(agent: string, place: { readonly taskId?: string; readonly contextId?: string } = {}) {
    const interceptors = [bearerInterceptor(server.token)];
    const transport = createConnectTransport({ baseUrl: server.url, httpVersion: "1.1", interceptors });
    const settings = agent === "" ? {} : { sessionSettings: { agent } };
    const message = textMessage(crypto.randomUUID(), "Hi.");
    const { task } = await createDevtoolClient(transport).tasks.sendMessage({ message, ...place, ...settings });
    if (!task) throw new Error("the answer has no task");
    return task;
  }

  async function post(path: string, body: object, headers: Readonly<Record<string, string>> = {}) {
    return read(
      await fetch(`${server.url}${path}`, { ...request(headers), method: "POST", body: JSON.stringify(body) }),
    );
  }

  async function get(path: string, headers: Readonly<Record<string, string>> = {}) {
    return read(await fetch(`${server.url}${path}`, request(headers)));
  }

  function request(headers: Readonly<Record<string, string>>) {
    return { headers: { "content-type": "application/json", authorization: `Bearer ${server.token}`, ...headers } };
  }
});

const V1 = { "a2a-version": "1.0" };

function greeting(role: string) {
  return { messageId: crypto.randomUUID(), role, parts: [{ text: "Hi." }] };
}

async function read(response: Response) {
  return { status: response.status, json: JSON.parse(await response.text()) };
}

/** Returns the last text of an agent. */
function wordsOf(task: { readonly stateText: string }): string {
  return task.stateText;
}
