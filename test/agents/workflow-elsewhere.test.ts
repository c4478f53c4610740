import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { toJsonString } from "@bufbuild/protobuf";
import {
  type DevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  GoalState,
  type Task,
  TaskSchema,
  TaskState,
} from "@devtool/schema";
import { createServer, type DevtoolServer } from "@devtool/server";
import {
  defineWorkflow,
  meshAgent,
  readMesh,
  workflowAgent,
} from "@devtool/workflow";
import { afterEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { startServing } from "../durability/crash/server-process.ts";
import { foreignServers } from "../interop/foreign-servers.ts";
import { SteadyAddress } from "../steady-address.ts";
import { agentText, approve, beginTask, taskOf } from "../tasks.ts";

/** An agent in another process. */
interface Peer extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  /** Returns what the peer itself says of a task. */
  stateOf(taskId: string): Promise<string>;
  /** Returns a task as the peer itself has it, as JSON. */
  taskText(taskId: string): Promise<string>;
}

/** Kinds of peers, and what has each ask, answer and wait. */
const PEERS = [
  {
    name: "another devtool server",
    start: startDevtool,
    asks: "write made.txt content\ntext Made.",
    question: /^Agent far → "write_file" asks: "(Create|Change) made\.txt/,
    says: "Made.",
    waits: "wait 60000",
  },
  {
    name: "a server on @a2a-js/sdk",
    start: startForeign,
    asks: "ask",
    question: /^Agent far asks/,
    says: "Reviewed.",
    waits: "hold",
  },
] as const;

/** Passes with its third run. */
const THIRD_RUN =
  "echo x >> runs; wc -l < runs | tr 0-9 a-j; test $(wc -l < runs) -ge 3";

describe.each(PEERS)("a goal that $name works for", (kind) => {
  it.each([
    ["until its check passes", THIRD_RUN, GoalState.ACHIEVED],
    ["until it makes no progress", "echo same; false", GoalState.BLOCKED],
  ])(
    "goes on %s: each turn is told what the check wrote",
    async (_until, check, state) => {
      await using peer = await kind.start();
      const { url, token } = peer;
      const mesh = readMesh(
        "agents: [{ name: far }]\notherwise: [far]",
        "m.mesh.yaml",
      );
      await using server = await createServer({
        agents: {
          front: meshAgent(mesh, {
            remoteAgents: [{ name: "far", url, token, description: "" }],
          }),
          devtool: codingAgent({ approvalMode: ApprovalMode.YOLO }),
        },
        workspace: temporaryDirectory(),
      });
      const { task } = await clientOf(server).tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), "text Begun."),
        messageSettings: { goal: { checks: [check] } },
        sessionSettings: { agent: "front" },
      });
      expect(task?.goalProgress).toMatchObject({ state, turns: 3 });
      const children = task ? childrenOf(task) : [];
      expect(children).toHaveLength(3);
      const tasks = await Promise.all(children.map((id) => peer.taskText(id)));
      const contexts = tasks.map(
        (text) => /"contextId":\s*"([^"]+)"/.exec(text)?.[1],
      );
      expect(new Set(contexts).size).toBe(1);
      expect(
        tasks.map((text) => text.includes("has failed. This is the end")),
      ).toEqual([false, true, true]);
    },
  );
});

describe("work for an agent elsewhere that is lost before it has the message", () => {
  it.each([
    { agent: "flow", text: "text Made." },
    { agent: "front", text: "text Made." },
    {
      agent: "devtool",
      text: `call agent_far ${JSON.stringify({ message: "text Made." })}`,
    },
  ])("waits until the agent is back: $agent", async ({ agent, text }) => {
    await using address = await SteadyAddress.open();
    await using far = await createServer({
      agents: { only: codingAgent() },
      workspace: temporaryDirectory(),
      publicUrl: address.url,
    });
    let losses = 0;
    const fetch: typeof globalThis.fetch = async (...request) => {
      try {
        return await globalThis.fetch(...request);
      } catch (reason) {
        losses++;
        address.lead(far.url);
        throw reason;
      }
    };
    const { url } = address;
    const { token } = far;
    const remoteAgents = [{ name: "far", url, token, description: "", fetch }];
    const approvalMode = ApprovalMode.YOLO;
    const mesh = readMesh(
      "agents: [{ name: far }]\notherwise: [far]",
      "m.yaml",
    );
    const steps = [{ id: "only", agent: "far", task: "{{input.text}}" }];
    await using server = await createServer({
      agents: {
        flow: workflowAgent(defineWorkflow({ name: "flow", steps }), {
          remoteAgents,
        }),
        front: meshAgent(mesh, { remoteAgents }),
        devtool: codingAgent({ remoteAgents, approvalMode }),
      },
      workspace: temporaryDirectory(),
    });
    const { task } = await clientOf(server).tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), text),
      sessionSettings: { agent },
    });
    expect(task?.state, task?.error).toBe(TaskState.COMPLETED);
    expect(task && childrenOf(task)).toEqual([expect.stringMatching(/./)]);
    expect(losses).toBe(1);
  });
});

describe.each(PEERS)("a step that $name does", (kind) => {
  const opened: AsyncDisposable[] = [];
  let server: DevtoolServer;
  let client: DevtoolClient;
  let peer: Peer;

  afterEach(async () => {
    await server.close();
    for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
  });

  async function serve(): Promise<void> {
    peer = await kind.start();
    opened.push(peer);
    const flow = defineWorkflow({
      name: "flow",
      steps: [
        { id: "first", agent: "far", task: "{{input.text}}" },
        {
          id: "second",
          agent: "far",
          task: kind.asks,
          dependencies: ["first"],
        },
      ],
    });
    const { url, token } = peer;
    const remoteAgents = [{ name: "far", url, token, description: "" }];
    server = await createServer({
      agents: { flow: workflowAgent(flow, { remoteAgents }) },
      workspace: temporaryDirectory(),
    });
    client = clientOf(server);
  }

  it("asks with its path, and gives its result to the run", async () => {
    await serve();
    const taskId = await beginTask(client, kind.asks);
    let task = await taskOf(client, taskId);
    for (const _step of ["first", "second"]) {
      expect(task.state, task.error).toBe(TaskState.INPUT_REQUIRED);
      const [question] = pendingToolCalls(task);
      expect(question?.description).toMatch(kind.question);
      task = await approve(client, task);
    }
    expect(task.state, task.error).toBe(TaskState.COMPLETED);
    expect(agentText(task)).toContain(kind.says);
  });

  it("is canceled with the run", async () => {
    await serve();
    const { task } = await client.tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), kind.waits),
      returnImmediately: true,
    });
    const taskId = task?.id ?? "";
    await expect
      .poll(async () => childOf(await taskOf(client, taskId)))
      .not.toBe("");
    await client.tasks.cancelTask({ taskId });
    const canceled = await taskOf(client, taskId);
    expect(canceled.state).toBe(TaskState.CANCELED);
    expect(await peer.stateOf(childOf(canceled))).toMatch(/CANCELED$/);
  });
});

async function startDevtool(): Promise<Peer> {
  const { info, kill } = await startServing([
    ...["--data", temporaryDirectory()],
    ...["--workspace", temporaryDirectory()],
  ]);
  return {
    url: info.url,
    token: info.token,
    stateOf: async (taskId) =>
      TaskState[(await taskOf(clientOf(info), taskId)).state],
    taskText: async (taskId) =>
      toJsonString(TaskSchema, await taskOf(clientOf(info), taskId)),
    [Symbol.asyncDispose]: kill,
  };
}

async function startForeign(): Promise<Peer> {
  const kind = foreignServers().find(
    ({ peer }) => peer === "@a2a-js/sdk 1.3.0",
  );
  if (!kind) throw new Error("there is no such SDK");
  const script = join(temporaryDirectory(), "steps.json");
  const steps = {
    ask: [{ state: "working" }, { state: "input-required", text: "Go on?" }],
    hold: [{ state: "working" }, { hold: true }],
    "*": [{ state: "completed", text: "Reviewed." }],
  };
  await writeFile(script, JSON.stringify(steps));
  const foreign = await kind.start(script, "streaming");
  const taskText = async (taskId: string): Promise<string> => {
    const response = await fetch(`${foreign.url}/rest/tasks/${taskId}`, {
      headers: { "a2a-version": "1.0" },
    });
    return response.text();
  };
  return {
    url: foreign.url,
    token: "",
    stateOf: async (taskId) => {
      const text = await taskText(taskId);
      return /"state":\s*"(\w+)"/.exec(text)?.[1] ?? text;
    },
    taskText,
    [Symbol.asyncDispose]: () => foreign[Symbol.asyncDispose](),
  };
}

/** Returns the id of the task that does the last step, empty before there is one. */
function childOf(task: Task): string {
  return childrenOf(task).at(-1) ?? "";
}

/** Returns the ids of the tasks that agents elsewhere did, in order. */
function childrenOf({ history }: Task): string[] {
  return history.flatMap(({ parts }) =>
    parts.flatMap(
      ({ toolCallDetail }) => toolCallDetail?.delegation?.taskId ?? [],
    ),
  );
}
