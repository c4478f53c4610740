import { readdirSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { acpAgent } from "@devtool/acp";
import { fakeAgentCommand } from "@devtool/acp/testing";
import {
  confirmationPart,
  pendingToolCalls,
  subscribeTask,
  textMessage,
} from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { objectOrEmpty } from "@devtool/internal/json";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  BudgetConfigSchema,
  type Task,
  TaskState,
  toolCallsOf,
} from "@devtool/schema";
import {
  Code,
  createServer,
  DevtoolError,
  type DevtoolServer,
  type ServerOptions,
} from "@devtool/server";
import { MemoryTaskStore, type TaskAppend } from "@devtool/server/store";
import {
  defineWorkflow,
  meshAgent,
  readMesh,
  workflowAgent,
} from "@devtool/workflow";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { processesOf } from "../processes.ts";
import { taskOf } from "../tasks.ts";
import { patientCancels } from "./patient-cancels.ts";

const signal = AbortSignal.timeout(300_000);

/** How long the processes sleep, by which they are found. */
const SECONDS = 600 + Math.random();
const SLEEPS = `sh -c 'sleep ${SECONDS} & sleep ${SECONDS}'`;

/** A store whose disk may be full. */
class FullStore extends MemoryTaskStore {
  isFull = false;

  override async append(append: TaskAppend): Promise<void> {
    if (!this.isFull) return super.append(append);
    throw new DevtoolError("the disk is full", Code.ResourceExhausted);
  }
}

describe("the cancellation of a task that calls other agents", () => {
  let below: DevtoolServer;
  let above: DevtoolServer;
  /** Makes the requests of the agent above. */
  let reach: typeof fetch;
  /** What the operator of the server above is told. */
  let notices: string[];
  let workspace: string;
  let dataDirectory: string;

  beforeEach(async () => {
    workspace = temporaryDirectory();
    dataDirectory = temporaryDirectory();
    reach = fetch;
    notices = [];
    below = await createServer({
      agents: {
        helper: codingAgent(),
        acp: acpAgent({
          name: "acp",
          command: fakeAgentCommand(),
          clientMethods: { terminal: true },
        }),
      },
      workspace,
    });
    above = await start();
  });
  afterEach(async () => {
    await above.close();
    await below.close();
  });

  it.each([
    ["a command", `run ${SLEEPS}`],
    ["an ACP agent behind another one", callOf("acp", `askrun ${SLEEPS}`)],
  ])(
    "ends the processes of %s before it is confirmed",
    async (_leaf, script) => {
      using _patience = patientCancels();
      const { id } = await begin(script);
      await until(async () => {
        const task = await taskOf(clientOf(above), id);
        if (pendingToolCalls(task).length > 0) await approve(id);
        return sleepers().length >= 2 ? true : undefined;
      });
      await clientOf(above).tasks.cancelTask({ taskId: id });
      expect(sleepers()).toEqual([]);
      expect(await childStates()).not.toContain(TaskState.WORKING);
    },
  );

  it("reaches the agent before its first event has come back", async () => {
    using _patience = patientCancels();
    const held = Promise.withResolvers<void>();
    const sent = Promise.withResolvers<void>();
    reach = async (input, init) => {
      const response = await fetch(input, init);
      if (init?.method !== "POST") return response;
      sent.resolve();
      await held.promise;
      return response;
    };
    const { id } = await begin("wait 60000");
    await sent.promise;
    const canceling = clientOf(above).tasks.cancelTask({ taskId: id });
    expect(await childStates()).toEqual([TaskState.WORKING]);
    held.resolve();
    await canceling;
    expect(await childStates()).toEqual([TaskState.CANCELED]);
  });

  it("reaches the agent right after a restart", async () => {
    using _patience = patientCancels();
    const { id } = await begin("wait 60000");
    await until(async () =>
      (await childStates()).includes(TaskState.WORKING) ? true : undefined,
    );
    await above.close();
    // The cancellation is there before the call has found its agent.
    const canceled = Promise.withResolvers<void>();
    reach = async (input, init) => {
      await canceled.promise;
      return fetch(input, init);
    };
    above = await start({
      observer: ({ name }) => {
        if (name.endsWith("CancelTask")) canceled.resolve();
        return undefined;
      },
    });
    await clientOf(above).tasks.cancelTask({ taskId: id });
    expect(await childStates()).toEqual([TaskState.CANCELED]);
  });

  it("is also what a budget does that is used up", async () => {
    await above.close();
    const time = durationFromMs(10_000);
    above = await start({
      budget: create(BudgetConfigSchema, { turn: { time } }),
    });
    await begin("wait 600000");
    await expect
      .poll(childStates, { timeout: 60_000 })
      .toEqual([TaskState.CANCELED]);
  });

  it.each(["main", "flow"])(
    "is not what a full disk does: the work for %s goes on",
    async (agent) => {
      await above.close();
      const store = new FullStore();
      above = await start({ openStore: async () => store });
      if (agent === "main") {
        await begin("wait 60000");
      } else {
        await beginAt("flow", "wait 60000");
      }
      await until(async () =>
        (await childStates()).includes(TaskState.WORKING) ? true : undefined,
      );
      store.isFull = true;
      const { tasks } = await clientOf(above).tasks.listTasks({});
      const full = clientOf(above).tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), "more"),
        taskId: tasks[0]?.id ?? "",
      });
      await expect(full).rejects.toThrow("the disk is full");
      await above.close();
      expect(await childStates()).toEqual([TaskState.WORKING]);
    },
  );

  it.each(["main", "flow", "mesh"])(
    "says so when the agent cannot be told, and tells it after a restart: %s",
    async (agent) => {
      const { tasks } = clientOf(above);
      const { id } =
        agent === "main"
          ? await begin(`run ${SLEEPS}`)
          : await beginAt(agent, `run ${SLEEPS}`);
      await until(async () => {
        const task = await taskOf(clientOf(above), id);
        if (pendingToolCalls(task).length > 0) await approve(id);
        return sleepers().length >= 2 ? true : undefined;
      });
      reach = () => Promise.reject(new TypeError("nobody is there"));
      await tasks.cancelTask({ taskId: id });
      expect(agent === "main" ? await noticesOf(id) : notices).toEqual([
        expect.stringMatching(
          /^[Aa]gent "?far"? could not be told to cancel.*: it did not answer within 5 seconds; its work may go on until it is told, which this server tries for an hour\.?$/,
        ),
      ]);
      expect((await taskOf(clientOf(above), id)).state).toBe(
        TaskState.CANCELED,
      );
      await above.close();
      expect(sleepers().length).toBeGreaterThanOrEqual(2);
      reach = fetch;
      above = await start();
      await expect.poll(childStates).toEqual([TaskState.CANCELED]);
      await expect.poll(sleepers).toEqual([]);
      await expect.poll(kept).toEqual([]);
      await expect
        .poll(() => notices.at(-1))
        .toBe(
          `the cancellation of what task "${id}" gave agent "far" is told now`,
        );
    },
  );

  it("reaches an agent behind a mesh that could not be told, after a restart", async () => {
    const { id } = await begin(`run ${SLEEPS}`, "mesh");
    await until(async () => {
      const task = await taskOf(clientOf(above), id);
      if (pendingToolCalls(task).length > 0) await approve(id);
      return sleepers().length >= 2 ? true : undefined;
    });
    reach = () => Promise.reject(new TypeError("nobody is there"));
    await clientOf(above).tasks.cancelTask({ taskId: id });
    await expect.poll(kept).not.toEqual([]);
    await above.close();
    expect(sleepers().length).toBeGreaterThanOrEqual(2);
    reach = fetch;
    above = await start();
    await expect.poll(childStates).toEqual([TaskState.CANCELED]);
    await expect.poll(sleepers).toEqual([]);
    await expect.poll(kept).toEqual([]);
  });

  it.each([
    [true, "its task was canceled"],
    [
      false,
      "it could not be told to cancel its task: its work may go on until it is told, which this server tries for an hour",
    ],
  ])("is what silence does, told at once: %s", async (isTold, fate) => {
    await above.close();
    above = await start({}, { silenceMs: 3000 });
    using _patience = isTold ? patientCancels() : undefined;
    const canBeTold = Promise.withResolvers<void>();
    if (isTold) canBeTold.resolve();
    reach = async (input, init) => {
      const { method = "" } = objectOrEmpty(
        init?.body ? JSON.parse(String(init.body)) : {},
      );
      if (/cancel/i.test(`${method}`)) await canBeTold.promise;
      return fetch(input, init);
    };
    const { id } = await begin("wait 600000");
    const ended = await until(async () => {
      const task = await taskOf(clientOf(above), id);
      return task.state === TaskState.COMPLETED ? task : undefined;
    });
    const [call] = ended.history.flatMap(toolCallsOf);
    expect(call?.result.value).toMatchObject({
      message: `agent far: it said nothing for 3 seconds: ${fate}`,
    });
    expect(kept()).toHaveLength(isTold ? 0 : 1);
    canBeTold.resolve();
    await expect
      .poll(childStates, { timeout: 30_000 })
      .toEqual([TaskState.CANCELED]);
    await expect.poll(kept, { timeout: 30_000 }).toEqual([]);
  });

  it("says so when an agent of A2A 0.3 has not said which task it works for", async () => {
    const sent = reachOldAgent();
    const { id } = await begin("x");
    await sent;
    await clientOf(above).tasks.cancelTask({ taskId: id });
    expect(await noticesOf(id)).toEqual([
      "Agent far could not be told to cancel: it has not said which task does the work, and lists none; its work may go on.",
    ]);
  });

  it("says so to the operator when a step of a workflow cannot be told", async () => {
    const sent = reachOldAgent();
    const { id: taskId } = await beginAt("flow", "x");
    await sent;
    await clientOf(above).tasks.cancelTask({ taskId });
    expect(notices).toEqual([
      `agent "far" could not be told to cancel what task "${taskId}" gave it: it has not said which task does the work, and lists none; its work may go on`,
    ]);
  });

  /**
   * Puts an agent of A2A 0.3 in the place of the one below, which never answers
   * a message and knows no other methods. Resolves when it has the message.
   */
  function reachOldAgent(): Promise<void> {
    const sent = Promise.withResolvers<void>();
    const card = {
      protocolVersion: "0.3.0",
      name: "old",
      url: "http://127.0.0.1:1/",
      preferredTransport: "JSONRPC",
      capabilities: { streaming: false },
    };
    reach = async (_address, init) => {
      if (init?.method !== "POST") return Response.json(card);
      const { id, method } = JSON.parse(String(init.body));
      if (method === "message/send") {
        sent.resolve();
        await new Promise(() => undefined);
      }
      const error = { code: -32_601, message: "there is no such method" };
      return Response.json({ jsonrpc: "2.0", id, error });
    };
    return sent.promise;
  }

  async function noticesOf(taskId: string): Promise<readonly string[]> {
    const found: string[] = [];
    for await (const { payload } of subscribeTask(
      clientOf(above),
      { taskId },
      signal,
    )) {
      if (payload.case === "notice") found.push(payload.value.text);
    }
    return found;
  }

  function start(
    more: Pick<ServerOptions, "budget" | "observer" | "openStore"> = {},
    agentCalls: NonNullable<
      Parameters<typeof codingAgent>[0]
    >["agentCalls"] = {},
  ): Promise<DevtoolServer> {
    const far = {
      name: "far",
      url: below.url,
      token: below.token,
      description: "",
      fetch: ((input, init) => reach(input, init)) satisfies typeof fetch,
    };
    return createServer({
      agents: {
        main: codingAgent({ remoteAgents: [far], agentCalls }),
        mesh: meshAgent(
          readMesh("agents: [{ name: far }]\notherwise: [far]", "mesh.yaml"),
          { remoteAgents: [far] },
        ),
        flow: workflowAgent(
          defineWorkflow({
            name: "flow",
            steps: [{ id: "a", agent: "far", task: "{{input.text}}" }],
          }),
          { remoteAgents: [far] },
        ),
      },
      workspace,
      dataDirectory,
      ...more,
      onNotice: (text) => notices.push(text),
    });
  }

  /** The files of what could not be told. */
  function kept(): readonly string[] {
    return readdirSync(dataDirectory).filter((name) =>
      name.startsWith("untold"),
    );
  }

  /** Has the agent above call another one with a script, and approves that. */
  async function begin(script: string, agent = "far"): Promise<Task> {
    const { tasks } = clientOf(above);
    const { task } = await tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), callOf(agent, script)),
    });
    if (!task) throw new Error("there is no task");
    await approve(task.id);
    return task;
  }

  /** Has the workflow or the mesh give the agent below a script. */
  async function beginAt(agent: string, script: string): Promise<Task> {
    const { task } = await clientOf(above).tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), script),
      sessionSettings: { agent },
      returnImmediately: true,
    });
    if (!task) throw new Error("there is no task");
    return task;
  }

  async function approve(taskId: string): Promise<void> {
    const client = clientOf(above);
    const parts = pendingToolCalls(await taskOf(client, taskId)).map((call) =>
      confirmationPart(call, "proceed_once"),
    );
    await client.tasks.sendMessage({
      message: { messageId: crypto.randomUUID(), parts },
      taskId,
      returnImmediately: true,
    });
  }

  async function childStates(): Promise<readonly TaskState[]> {
    const { tasks } = await clientOf(below).tasks.listTasks({});
    return tasks.flatMap(({ lastEvent }) => lastEvent?.state ?? []);
  }
});

function callOf(agent: string, message: string): string {
  return `call agent_${agent} ${JSON.stringify({ message })}`;
}

/** The processes of the command that sleeps, and of those that started it. */
function sleepers(): readonly string[] {
  return processesOf(`sleep\0${SECONDS}`);
}

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
