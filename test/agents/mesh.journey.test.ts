import { createServer as createHttpServer, type Server } from "node:http";
import {
  connect,
  createServer as createNetServer,
  type Server as NetServer,
  type Socket,
} from "node:net";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  subscribeTask,
  textMessage,
} from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { objectOrEmpty } from "@devtool/internal/json";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  type PartSchema,
  Role,
  type SessionSettingsSchema,
  type Task,
  TaskState,
} from "@devtool/schema";
import {
  type Agent,
  createServer,
  type DevtoolServer,
  type ServerOptions,
} from "@devtool/server";
import type { AgentEvent, Turn } from "@devtool/server/agent";
import { meshAgent, readMesh } from "@devtool/workflow";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { clientOf } from "../client-of.ts";
import { LEFT_TO_CI } from "../depth.ts";

type Part = MessageInitShape<typeof PartSchema>;
interface Request {
  readonly contextId?: string;
  readonly sessionSettings?: MessageInitShape<typeof SessionSettingsSchema>;
}

interface RemoteAgent {
  readonly name: string;
  readonly url: string;
  readonly description: string;
  readonly token?: string;
}

const MESH = `
agents:
  - name: near
    concurrency: 1
  - name: dead
  - name: slow
  - name: mute
  - name: liar
  - name: one
    skills: [review]
    concurrency: 1
  - name: two
    skills: [review, deploy]
  - name: cut
rules:
  - { id: gone, agents: [dead, one], words: [gone] }
  - { id: late, agents: [slow, two], words: [late] }
  - { id: silent, agents: [mute, two], words: [silent] }
  - { id: lies, agents: [liar, two], words: [lies] }
  - { id: pair, agents: [one, two], words: [pair] }
  - { id: code, agents: [near], starts_with: write }
otherwise: [one]
`;

describe("a mesh of agents", () => {
  const servers: DevtoolServer[] = [];
  const sockets: Server[] = [];
  const entrances: NetServer[] = [];
  let workspace: string;
  let client: DevtoolClient;
  let remoteAgents: RemoteAgent[];
  /** What the agents elsewhere were told, in order. */
  let told: string[];
  /** The id of the task that the next message continues. */
  let before: string;
  /** The connections to the agent "cut". */
  let between: Set<Socket>;
  /** How many connections the agent "dead" has cut. */
  let cuts: number;
  /** Ends the wait of agents that are told "hold". */
  let release: PromiseWithResolvers<void>;

  beforeEach(async () => {
    told = [];
    before = "";
    cuts = 0;
    between = new Set();
    release = Promise.withResolvers();
    workspace = temporaryDirectory();
    const dead = await listen(() => undefined);
    sockets.at(-1)?.on("connection", (socket) => {
      cuts++;
      socket.destroy();
    });
    const [one, two] = [
      await serve({ only: sayingAgent("one") }),
      await serve({ only: sayingAgent("two") }),
    ];
    remoteAgents = [
      { name: "dead", url: dead, description: "" },
      { name: "slow", url: await listen(() => undefined), description: "" },
      { name: "mute", url: await fakeAgent(undefined), description: "" },
      { name: "cut", ...(await serveBehind(between)), description: "" },
      { name: "liar", url: await fakeAgent("no JSON"), description: "" },
      ...[one, two].map(({ url, token }, index) => ({
        name: index === 0 ? "one" : "two",
        url,
        token,
        description: "",
      })),
    ];
    const mesh = meshAgent(readMesh(MESH, "front.mesh.yaml"), { remoteAgents });
    const hasty = meshAgent(
      readMesh(`${MESH}first_event_timeout: 2s`, "hasty.mesh.yaml"),
      { remoteAgents },
    );
    // Long enough for a card and a request, on a slow machine, too.
    const patient = meshAgent(
      readMesh(`${MESH}first_event_timeout: 5s`, "patient.mesh.yaml"),
      { remoteAgents },
    );
    const strict = meshAgent(
      readMesh(MESH.replace("otherwise: [one]", ""), "strict.mesh.yaml"),
      { remoteAgents, silenceMs: 300 },
    );
    const near = codingAgent();
    client = clientOf(
      await serve({ front: mesh, hasty, patient, strict, near }),
    );
  });
  afterEach(async () => {
    release.resolve();
    for (const socket of sockets.splice(0)) {
      socket.closeAllConnections();
      socket.close();
    }
    for (const entrance of entrances.splice(0)) entrance.close();
    for (const socket of between) socket.destroy();
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });

  async function serve(
    agents: Readonly<Record<string, Agent>>,
    options: Pick<ServerOptions, "publicUrl"> = {},
  ): Promise<DevtoolServer> {
    const server = await createServer({ agents, workspace, ...options });
    servers.push(server);
    return server;
  }

  /** Serves an agent that is reached over sockets that a test can end. */
  async function serveBehind(
    ends: Set<Socket>,
  ): Promise<{ readonly url: string; readonly token: string }> {
    let inner = 0;
    const entrance = createNetServer((socket) => {
      const server = connect(inner, "127.0.0.1");
      const end = (): void => {
        ends.delete(socket.destroy());
        server.destroy();
      };
      ends.add(socket.on("error", end).on("close", end));
      server.on("error", end).on("close", end);
      socket.pipe(server).pipe(socket);
    });
    entrances.push(entrance);
    const url = await listening(entrance);
    const server = await serve(
      { only: sayingAgent("two") },
      { publicUrl: url },
    );
    inner = Number(new URL(server.url).port);
    return { url, token: server.token };
  }

  /** An agent that says its name and what it was told, and counts the turns. */
  function sayingAgent(name: string): Agent {
    return {
      about: { name, description: name },
      open: () => ({
        createExecutor: () => ({
          async *execute(turn): AsyncIterable<AgentEvent> {
            const text = promptOf(turn);
            const turns = turn.earlier.filter(({ role }) => role === Role.USER);
            told.push(`${name}: ${text}`);
            if (text.includes("hold")) {
              yield* turn.say(`${name} holds. `);
              await release.promise;
            }
            if (text.includes("fail")) throw new Error("broken");
            yield* turn.say(`${name} after ${turns.length}: ${text}`);
          },
        }),
      }),
    };
  }

  async function listen(
    answer: Parameters<typeof createHttpServer>[1],
  ): Promise<string> {
    const socket = createHttpServer(answer);
    sockets.push(socket);
    return listening(socket);
  }

  async function listening(server: NetServer): Promise<string> {
    await new Promise<void>((resolve) =>
      server.listen(0, "127.0.0.1", resolve),
    );
    const address = server.address();
    if (typeof address !== "object" || !address) throw new Error("no port");
    return `http://127.0.0.1:${address.port}`;
  }

  /** An agent with a card, and one answer to all that it is sent. */
  async function fakeAgent(answer: string | undefined): Promise<string> {
    let url = "";
    url = await listen((request, response) => {
      if (request.url?.includes("/.well-known/")) {
        response.setHeader("content-type", "application/json");
        response.end(
          JSON.stringify({
            protocolVersion: "0.3.0",
            name: "Fake",
            description: "Fake",
            version: "1",
            url,
            preferredTransport: "JSONRPC",
            capabilities: { streaming: true },
            defaultInputModes: ["text/plain"],
            defaultOutputModes: ["text/plain"],
            skills: [],
          }),
        );
        return;
      }
      told.push(`fake: ${request.method}`);
      if (answer !== undefined) response.end(answer);
    });
    return url;
  }

  async function send(
    text: string,
    request: Request = {},
    parts: readonly Part[] = [],
  ): Promise<Task> {
    const { task } = await client.tasks.sendMessage({
      ...request,
      message: {
        messageId: crypto.randomUUID(),
        referenceTaskIds: before ? [before] : [],
        parts: [
          ...(text === ""
            ? []
            : [{ content: { case: "text" as const, value: text } }]),
          ...parts,
        ],
      },
    });
    if (!task) throw new Error("there is no task");
    return task;
  }
  it("goes on with the conversation at an agent of its server at another address", async () => {
    const dataDirectory = temporaryDirectory();
    const front = meshAgent(
      readMesh(
        "agents: [{ name: near }]\notherwise: [near]\n",
        "front.mesh.yaml",
      ),
      {},
    );
    const agents = { front, near: codingAgent() };
    const contextsAfter = async (publicUrl: string, contextId: string) => {
      await using server = await createServer({
        ...{ agents, workspace, dataDirectory, publicUrl },
      });
      const { tasks } = clientOf(server);
      const { task } = await tasks.sendMessage({
        contextId,
        message: textMessage(crypto.randomUUID(), "text Hi."),
      });
      expect(task?.state, task?.error).toBe(TaskState.COMPLETED);
      const below = await tasks.listTasks({ agent: "near" });
      return below.tasks.map((one) => one.contextId);
    };
    const conversation = crypto.randomUUID();
    const [first] = await contextsAfter("https://one.example", conversation);
    const both = await contextsAfter("https://two.example", conversation);
    expect(both).toEqual([first, first]);
  });

  it("gives a message to the agent that it names, by skill, by rule or otherwise, and says why", async () => {
    const data = (value: Record<string, string>): Part => ({
      content: { case: "data", value },
    });
    const named = await send("@two hello");
    const asked = await send("hello", {}, [data({ agent: "two" })]);
    const able = await send("hello", {}, [
      data({ skill: "deploy", more: "x" }),
    ]);
    const ruled = await send("A PAIR, please");
    const other = await send("hello");
    expect([named, asked, able, ruled, other].map(saidBy)).toEqual([
      "two after 0: hello",
      "two after 0: hello",
      'two after 0: hello {"more":"x"}',
      "one after 0: A PAIR, please",
      "one after 0: hello",
    ]);
    expect([named, asked, able, ruled, other].map(triesOf)).toEqual([
      ["two#1 the message names it"],
      ["two#1 the message names it"],
      ['two#1 the message asks for the skill "deploy"'],
      ['one#1 rule "pair"'],
      ["one#1 no rule holds"],
    ]);
    expect(await Array.fromAsync(noticesOf(client, ruled.id))).toEqual([
      'Agent one has the message: rule "pair".',
    ]);
  });

  it("refuses what it has no agent for, and names those that there are", async () => {
    const unknown = await send("@three hello");
    expect(unknown.state).toBe(TaskState.FAILED);
    expect(unknown.error).toBe(
      'agent "three" is not here: choose near, dead, slow, mute, liar, one, two, cut',
    );
    const skill: Part = { content: { case: "data", value: { skill: "cook" } } };
    expect((await send("x", {}, [skill])).error).toBe(
      'no agent has the skill "cook": choose review, deploy',
    );
    expect(told).toEqual([]);
  });

  it("keeps a conversation with its agent, which knows what was said before", async () => {
    const first = await send("pair hello");
    before = first.id;
    const { contextId } = first;
    const second = await send("late again", { contextId });
    expect(saidBy(second)).toBe("one after 1: late again");
    expect(triesOf(second)).toEqual(["one#1 it answered before"]);
    before = second.id;
    const elsewhere = await send("@two and you?", { contextId });
    before = elsewhere.id;
    const back = await send("@one once more", { contextId });
    expect([elsewhere, back].map(saidBy)).toEqual([
      "two after 0: and you?",
      "one after 2: once more",
    ]);
  });

  it("says so where a message refers to a task without its conversation", async () => {
    before = (await send("@two hello")).id;
    const next = await send("hello");
    expect(triesOf(next)).toEqual([
      "one#1 no rule holds, and no task that the message refers to is an ended one of its contextId",
    ]);
    const sessionSettings = { agent: "strict" };
    expect((await send("hello", { sessionSettings })).error).toBe(
      "no rule holds, and no task that the message refers to is an ended one of its contextId: choose the contextId of that task, @near, @dead, @slow, @mute, @liar, @one, @two, @cut",
    );
  });

  it("reads the task on where the connection to its agent is cut in the middle, and sends nothing again", async () => {
    const held = send("@cut hold on");
    await expect.poll(() => told, { timeout: 60_000 }).toHaveLength(1);
    // The mesh has the id of the agent's task, and follows its events.
    const signal = AbortSignal.timeout(60_000);
    const { tasks } = await client.tasks.listTasks({});
    const { id: taskId = "" } =
      tasks.find(({ title }) => title === "@cut hold on") ?? {};
    for await (const event of subscribeTask(client, { taskId }, signal)) {
      if (event.toolCallDetail?.delegation?.taskId) break;
    }
    expect(between.size).toBeGreaterThan(0);
    for (const socket of between) socket.destroy();
    release.resolve();
    const task = await held;
    expect(saidBy(task)).toBe("two holds. two after 0: hold on");
    expect(triesOf(task)).toEqual(["cut#1 the message names it"]);
    expect(told).toEqual(["two: hold on"]);
  });

  it("fails over from an agent that is dead, and from one whose card does not come", async () => {
    const gone = await send("gone");
    expect(saidBy(gone)).toBe("one after 0: gone");
    expect(triesOf(gone)).toEqual([
      'dead#1 rule "gone"',
      expect.stringMatching(
        /^one#2 rule "gone"; dead did not take it \(agent dead: .+\)$/,
      ),
    ]);
    expect(cuts).toBe(1);
    const late = await send("late", { sessionSettings: { agent: "hasty" } });
    expect(saidBy(late)).toBe("two after 0: late");
    expect(triesOf(late)[1]).toMatch(
      /^two#2 rule "late"; slow did not take it \(.*within 2 s/,
    );
  });

  it.skipIf(LEFT_TO_CI !== "")(
    `does not repeat what an agent may have: one that answers nothing, or no protocol${LEFT_TO_CI}`,
    async () => {
      for (const text of ["silent", "lies"]) {
        told = [];
        const sessionSettings = { agent: "patient" };
        const task = await send(text, { sessionSettings });
        expect(task.state).toBe(TaskState.FAILED);
        expect(task.error).toMatch(/^no agent answers: (mute|liar): /);
        expect(told.filter((one) => !one.startsWith("fake"))).toEqual([]);
        expect(told).toContain("fake: POST");
      }
    },
  );

  it("picks anew where the agent before has not answered", async () => {
    const failed = await send("@two fail");
    before = failed.id;
    const next = await send("hello", { contextId: failed.contextId });
    expect(triesOf(next)).toEqual(["one#1 no rule holds"]);
  });

  it.skipIf(LEFT_TO_CI !== "")(
    `ends the work of an agent that is silent for too long${LEFT_TO_CI}`,
    async () => {
      const sessionSettings = { agent: "strict" };
      const task = await send("@one hold", { sessionSettings });
      expect(task.error).toMatch(
        /^no agent answers: .* said nothing for 0\.3 s/,
      );
    },
  );

  it("does not repeat what an agent has begun and failed", async () => {
    const task = await send("pair fail");
    expect(task.state).toBe(TaskState.FAILED);
    expect(told).toEqual(["one: pair fail"]);
  });

  it("bounds what an agent works on, and prefers one that is free", async () => {
    const first = send("pair hold");
    await expect.poll(() => told).toEqual(["one: pair hold"]);
    expect(saidBy(await send("pair second"))).toBe("two after 0: pair second");
    const waits = send("@one third");
    const waiting = await vi.waitFor(async () => {
      const { tasks } = await client.tasks.listTasks({});
      const found = tasks.find(({ title }) => title === "@one third");
      if (!found) throw new Error("nothing waits");
      return found.id;
    }, 60_000);
    const notices = noticesOf(client, waiting);
    expect((await notices.next()).value).toBe(
      "Agent one is busy: the message waits until it has ended another.",
    );
    expect(told).toHaveLength(2);
    release.resolve();
    expect(saidBy(await waits)).toBe("one after 0: third");
    expect(saidBy(await first)).toBe("one holds. one after 0: pair hold");
  });

  it("asks what its agent asks, which works for others meanwhile, and hands the answer on", async () => {
    const asked = [
      await send("write one.txt made"),
      await send("write two.txt made"),
    ];
    for (const one of asked) {
      const [question] = pendingToolCalls(one);
      expect(question?.description).toMatch(/^Agent near → "write_file" asks/);
      if (!question) throw new Error("nothing is asked");
      const { task } = await client.tasks.sendMessage({
        taskId: one.id,
        message: {
          messageId: crypto.randomUUID(),
          parts: [confirmationPart(question, "proceed_once")],
        },
      });
      expect(task?.state, task?.error).toBe(TaskState.COMPLETED);
    }
    expect(fileText(workspace, "one.txt")).toBe("made");
    expect(fileText(workspace, "two.txt")).toBe("made");
  });

  it("keeps its agent's question open when a plain message comes, which the agent gets after the answer", async () => {
    const asked = await send("write made.txt made");
    const { task: still } = await client.tasks.sendMessage({
      taskId: asked.id,
      returnImmediately: true,
      message: textMessage(crypto.randomUUID(), "yes"),
    });
    expect(still?.state).toBe(TaskState.INPUT_REQUIRED);
    const [question, ...others] = still ? pendingToolCalls(still) : [];
    expect(question).toEqual(pendingToolCalls(asked)[0]);
    expect(others).toEqual([]);
    if (!question) throw new Error("nothing is asked");
    await client.tasks.sendMessage({
      taskId: asked.id,
      message: {
        messageId: crypto.randomUUID(),
        parts: [confirmationPart(question, "proceed_once")],
      },
    });
    const tries = async (): Promise<readonly string[]> => {
      const { task } = await client.tasks.getTask({ taskId: asked.id });
      return task?.state === TaskState.COMPLETED ? triesOf(task) : [];
    };
    await expect
      .poll(tries, { timeout: 60_000 })
      .toEqual(['near#1 rule "code"', "near#1 it answered before"]);
    expect(fileText(workspace, "made.txt")).toBe("made");
  });

  it("gives nothing to agents elsewhere where the session is narrowed", async () => {
    const task = await send("hello", {
      sessionSettings: { agent: "front", approvalMode: ApprovalMode.PLAN },
    });
    expect(task.error).toMatch(
      /^agent "one" elsewhere does not follow approval_mode of this session/,
    );
    expect(told).toEqual([]);
  });
});

function promptOf({ prompt }: Turn): string {
  return (prompt?.parts ?? [])
    .map(({ content }) => {
      if (content.case === "text") return content.value;
      return content.case === "data"
        ? ` ${JSON.stringify(objectOrEmpty(content.value))}`
        : "";
    })
    .join("");
}

function saidBy({ history, error }: Task): string {
  const said = history
    .filter(({ role }) => role === Role.AGENT)
    .flatMap(({ parts }) =>
      parts.flatMap(({ content }) =>
        content.case === "text" ? content.value : [],
      ),
    );
  return said.join("") || `error: ${error}`;
}

async function* noticesOf(
  client: DevtoolClient,
  taskId: string,
): AsyncGenerator<string> {
  const signal = AbortSignal.timeout(60_000);
  for await (const { payload } of subscribeTask(client, { taskId }, signal)) {
    if (payload.case === "notice") yield payload.value.text;
  }
}

/** The agents that had a message, each with its number and why. */
function triesOf({ history }: Task): readonly string[] {
  const details = history.flatMap(({ parts }) =>
    parts.flatMap(({ toolCallDetail }) => toolCallDetail ?? []),
  );
  return details.flatMap(({ stepRun, delegation }) =>
    stepRun ? `${delegation?.agent}#${stepRun.attempt} ${stepRun.reason}` : [],
  );
}
