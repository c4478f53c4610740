import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { toJson } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
} from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  createDevtoolClient,
  createTaskView,
  type DevtoolClient,
  subscribeTask,
  type TaskSnapshot,
} from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import { serveCodingAgent } from "@devtool/coding-agent";
import {
  type CuttingProxy,
  startCuttingProxy,
} from "@devtool/conformance/testing";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  emptyTask,
  MessageSchema,
  Role,
  reduceTask,
  type Task,
  type TaskEvent,
  TaskSchema,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
} from "vitest";
import { roundsOf, seedOf, variantsOf } from "../depth.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { GatedModel } from "../durability/message-queue/gated-model.ts";
import { SteadyAddress } from "../steady-address.ts";
import { soon } from "../tasks.ts";
import { until, whileFollowing } from "./following.ts";

const CUTS = roundsOf("DEVTOOL_CUTS", { quick: 2, ci: 10, deep: 5000 });
const QUICK = { baseDelayMs: 1, maxAttempts: 1000 };

describe("a view of a task", () => {
  let base: string;
  let server: DevtoolServer;
  let client: DevtoolClient;

  beforeAll(async () => {
    base = temporaryDirectory();
    await mkdir(join(base, "work"));
    server = await serveCodingAgent({ workspace: join(base, "work") });
    client = connect(server.url, server.token);
  });
  afterAll(() => server.close());

  it("shows thoughts, text, calls with their output, questions and usage", async () => {
    const view = createTaskView(client);
    expect(view.snapshot()).toMatchObject({
      items: [],
      questions: [],
      unsent: [],
    });
    const sent = view.send(
      "think\ntext Hello.\nwrite made.txt made\ntext Done.",
      soon(),
    );
    await until(view, ({ unsent }) => unsent.length === 1);
    await sent;
    const { questions, task } = view.snapshot();
    expect(task.state).toBe(TaskState.INPUT_REQUIRED);
    expect(questions.map(({ toolName }) => toolName)).toEqual(["write_file"]);
    const [question] = questions;
    await view.answer(question?.toolCallId ?? "", "proceed_once", soon());
    const { items, ...rest } = view.snapshot();
    expect(items.map(({ part }) => part.content.case)).toEqual([
      "text",
      "thought",
      "text",
      "toolCall",
      "confirmation",
      "text",
    ]);
    const call = items[3]?.part.content;
    expect(call?.case === "toolCall" ? call.value.status : undefined).toBe(
      ToolCallStatus.SUCCEEDED,
    );
    expect(rest).toMatchObject({
      questions: [],
      unsent: [],
      lost: undefined,
      error: undefined,
    });
    expect(new Set(items.map(({ key }) => key)).size).toBe(items.length);
  });

  it("shows the output of a command while it runs", async () => {
    const view = createTaskView(client);
    await view.send("run echo one; sleep 2; echo two", soon());
    const [question] = view.snapshot().questions;
    const sent = view.answer(
      question?.toolCallId ?? "",
      "proceed_once",
      soon(),
    );
    const outputs = ({ items }: TaskSnapshot): string[] =>
      items.flatMap(({ part: { content } }) =>
        content.case === "toolCall" ? [content.value.liveContent ?? ""] : [],
      );
    await until(view, (snapshot) => outputs(snapshot).includes("one\n"));
    expect(view.snapshot().task.state).toBe(TaskState.WORKING);
    await sent;
    expect(view.snapshot().task.state).toBe(TaskState.COMPLETED);
  });

  it("shows the plan, which the agent changes", async () => {
    const step = (status: string) =>
      JSON.stringify({ plan: [{ step: "write it", status }] });
    const view = createTaskView(client);
    for (const status of ["in_progress", "completed"]) {
      await view.send(`call update_plan ${step(status)}`, soon());
      expect(view.snapshot().plan).toEqual([{ text: "write it", status }]);
    }
  });

  it("shows the same whether it starts with the log or with the task", async () => {
    const view = createTaskView(client);
    const plan = [{ step: "write it", status: "in_progress" }];
    await view.send(
      `think\ntext Hello.\ncall update_plan ${JSON.stringify({ plan })}\nsay 20\nwrite made.txt made`,
      soon(),
    );
    const taskId = view.snapshot().task.id;
    const [byLog, byTask] = await Promise.all(
      (["log", "task"] as const).map(async (startWith) => {
        const other = createTaskView(client, { taskId, startWith });
        await whileFollowing(other, () =>
          until(other, ({ questions }) => questions.length === 1),
        );
        const { task, items, plan, questions } = other.snapshot();
        return {
          task: toJson(TaskSchema, task),
          keys: items.map(({ key }) => key),
          asked: questions.map(({ toolCallId }) => toolCallId),
          plan,
        };
      }),
    );
    expect(byTask?.plan).toHaveLength(1);
    expect(byTask).toEqual(byLog);
  });

  it("notifies once for all events of a turn, and shows the same snapshot until then", async () => {
    const due: (() => void)[] = [];
    const view = createTaskView(client, {
      schedule: (notify) => void due.push(notify),
    });
    let notified = 0;
    view.subscribe(() => notified++);
    const before = view.snapshot();
    const sent = view.send("say 200", soon());
    await expect.poll(() => due.length).toBe(1);
    expect(view.snapshot()).toBe(before);
    await sent;
    // `send` shows what it did without waiting for the schedule, and the
    // schedule has nothing left to do.
    expect(notified).toBe(1);
    const after = view.snapshot();
    due.forEach((notify) => void notify());
    expect(notified).toBe(1);
    expect(view.snapshot()).toBe(after);
    expect(before.items).toEqual([]);
  });

  it("keeps items that have not changed", async () => {
    const view = createTaskView(client);
    await view.send("text One.", soon());
    const { items } = view.snapshot();
    await view.send("text Two.", soon());
    expect(view.snapshot().items.slice(0, 2)).toEqual(items);
    for (const [at, item] of items.entries()) {
      expect(view.snapshot().items[at]).toBe(item);
    }
  });

  it("follows what other clients do, also in a task that waits", async () => {
    const mine = createTaskView(client);
    await mine.send("write a.txt a\ntext Written.", soon());
    const { task, questions } = mine.snapshot();
    const other = createTaskView(client, { taskId: task.id });
    await whileFollowing(other, async () => {
      await until(other, ({ questions }) => questions.length === 1);
      await mine.answer(questions[0]?.toolCallId ?? "", "proceed_once", soon());
      await until(other, ({ task }) => task.state === TaskState.COMPLETED);
    });
    expect(other.snapshot().items.map(({ part }) => part)).toEqual(
      mine.snapshot().items.map(({ part }) => part),
    );
  });

  it("shows all of a task that others have changed meanwhile, when it answers", async () => {
    const one = createTaskView(client);
    await one.send("text Mine.", soon());
    const other = createTaskView(client, { taskId: one.snapshot().task.id });
    await other.send("text Theirs.", soon());
    expect(texts(other.snapshot())).toEqual([
      "text Mine.",
      "Mine.",
      "text Theirs.",
      "Theirs.",
    ]);
    await one.send("text Mine again.", soon());
    expect(texts(one.snapshot())).toContain("Theirs.");
    expect(texts(one.snapshot()).at(-1)).toBe("Mine again.");
  });

  it("queues a message while the task works", async () => {
    const model = new GatedModel();
    await using busy = await serveCodingAgent({
      workspace: join(base, "work"),
      model,
    });
    const view = createTaskView(connect(busy.url, busy.token));
    const first = view.send("one", soon());
    await until(view, ({ task }) => task.state === TaskState.WORKING);
    await model.asked(1);
    const second = view.send("two", soon());
    await until(view, ({ task }) => task.queuedMessages.length === 1);
    model.answer("One.");
    await model.asked(2);
    model.answer("Two.");
    await Promise.all([first, second]);
    expect(texts(view.snapshot())).toEqual(["one", "One.", "two", "Two."]);
  });

  it("cancels a task", async () => {
    const view = createTaskView(client);
    const sent = view.send("text One.\nhang", soon());
    await until(view, (snapshot) => texts(snapshot).includes("One."));
    await view.cancel(soon());
    expect(view.snapshot().task.state).toBe(TaskState.CANCELED);
    await sent;
  });

  it("renames a task, also one that has ended", async () => {
    const view = createTaskView(client, { clientLabel: "test" });
    await expect(view.rename("x", soon())).rejects.toMatchObject({
      code: Code.FailedPrecondition,
    });
    await view.send("text One.", soon());
    await view.rename(" Other words\n", soon());
    const { task } = view.snapshot();
    expect(task).toMatchObject({
      title: "Other words",
      state: TaskState.COMPLETED,
    });
    await view.send("text Two.", soon());
    expect(view.snapshot().task.title).toBe("Other words");
    await expect(view.rename("\n", soon())).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
  });

  it("starts its task in the session that it was given", async () => {
    const contextId = crypto.randomUUID();
    const view = createTaskView(client, {
      session: { contextId, sessionSettings: { allowedTools: ["read_file"] } },
    });
    await view.send("text One.", soon());
    expect(view.snapshot().task).toMatchObject({
      contextId,
      sessionSettings: { allowedTools: ["read_file"] },
    });
    await view.send("text Two.", soon());
    expect(view.snapshot().task.contextId).toBe(contextId);
  });

  it("tells a sender what is wrong with a message, and no longer shows the message", async () => {
    const view = createTaskView(client);
    await expect(
      view.send({ message: { parts: [] } }, soon()),
    ).rejects.toMatchObject({ code: Code.InvalidArgument });
    expect(view.snapshot()).toMatchObject({ unsent: [], error: undefined });
    await expect(
      view.answer("no-call", "proceed_once", soon()),
    ).rejects.toThrow('"no-call" does not wait');
    await expect(view.cancel(soon())).rejects.toThrow("no task to cancel");
    await view.send("text Well.", soon());
    expect(texts(view.snapshot())).toEqual(["text Well.", "Well."]);
  });

  it("shows why it cannot be read", async () => {
    const view = createTaskView(client, { taskId: crypto.randomUUID() });
    await expect(view.follow(soon())).rejects.toMatchObject({
      code: Code.NotFound,
    });
    expect(view.snapshot().error?.code).toBe(Code.NotFound);
  });

  it("stops reading when nobody follows any more, and goes on where it was", async () => {
    const model = new GatedModel();
    await using busy = await serveCodingAgent({
      workspace: join(base, "work"),
      model,
    });
    const itsClient = connect(busy.url, busy.token);
    const view = createTaskView(itsClient);
    const leave = new AbortController();
    const sent = view.send("one", leave.signal);
    await until(view, ({ items }) => items.length === 1);
    await model.asked(1);
    leave.abort(new Error("left"));
    await expect(sent).rejects.toThrow("left");
    model.answer("One.");
    await whileFollowing(view, () =>
      until(view, ({ task }) => task.state === TaskState.COMPLETED),
    );
    expect(view.snapshot().task).toEqual(
      await folded(itsClient, view.snapshot().task.id),
    );
  });

  it("goes on with the task that continues an ended one in A2A 1.0", async () => {
    const { url, token } = server;
    const view = createTaskView(
      createDevtoolClient(
        createA2aTransport({ url, token, protocolVersion: "1.0" }),
      ),
    );
    await view.send("text One.", soon());
    const { task } = view.snapshot();
    await view.send("text Two.", soon());
    expect(view.snapshot().task.id).not.toBe(task.id);
    expect(texts(view.snapshot())).toEqual([
      "text One.",
      "One.",
      "text Two.",
      "Two.",
    ]);
  });
});

describe("a view whose connections are cut at any byte (R4)", () => {
  let base: string;
  let server: DevtoolServer;
  let proxy: CuttingProxy;
  let seed = seedOf();

  beforeAll(async () => {
    base = temporaryDirectory();
    await mkdir(join(base, "work"));
    proxy = await startCuttingProxy(
      () => server.url,
      () => {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
        return 200 + Math.floor((seed / 2_147_483_648) * 20_000);
      },
    );
    server = await serveCodingAgent({
      workspace: join(base, "work"),
      allowedHosts: [new URL(proxy.url).host],
    });
  });
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await server.close();
  });

  const named: typeof fetch = (input, init) =>
    fetch(input, {
      ...init,
      headers: {
        ...Object.fromEntries(new Headers(init?.headers)),
        connection: "close",
      },
    });
  const a2a = (protocolVersion: string, protocolBinding: string) => () =>
    createDevtoolClient(
      createA2aTransport({
        url: proxy.url,
        token: server.token,
        fetch: named,
        grpc: (baseUrl) => createGrpcTransport({ baseUrl }),
        protocolVersion,
        protocolBinding,
      }),
    );
  const clients: Record<string, () => DevtoolClient> = {
    Connect: () => connect(proxy.url, server.token),
    "A2A 1.0 over JSON-RPC": a2a("1.0", "JSONRPC"),
    "A2A 1.0 over gRPC": a2a("1.0", "GRPC"),
    "A2A 0.3 over JSON-RPC": a2a("0.3", "JSONRPC"),
    "A2A 0.3 over HTTP+JSON": a2a("0.3", "HTTP+JSON"),
  };

  /** How a view may start over a protocol. */
  const startsOf = (name: string): readonly ("log" | "task")[] =>
    name === "Connect" ? ["log", "task"] : ["log"];

  const played = variantsOf("cut protocols", Object.entries(clients), 1);
  for (const [name, connectTo] of played) {
    it(`is exactly the log over ${name}, through ${CUTS} cuts`, {
      timeout: 240_000 + CUTS * 1_000,
    }, async () => {
      const client = connectTo();
      const direct = connect(server.url, server.token);
      const before = proxy.cuts();
      let views = 0;
      while (proxy.cuts() - before < CUTS) {
        views++;
        const view = createTaskView(client, QUICK);
        await view.send(
          "think 3\nsay 100\nwait 5\nsay 50\nwrite f.txt f\nsay 50",
          soon(),
        );
        const { questions, task } = view.snapshot();
        await view.answer(
          questions[0]?.toolCallId ?? "",
          "proceed_once",
          soon(),
        );
        const log = await folded(direct, task.id);
        expect(said(view.snapshot().task)).toEqual(said(log));
        for (const startWith of startsOf(name)) {
          const reread = createTaskView(client, {
            ...QUICK,
            taskId: task.id,
            startWith,
          });
          await whileFollowing(reread, () =>
            until(reread, ({ task }) => task.state === TaskState.COMPLETED),
          );
          expect(agentSteps(reread.snapshot().task)).toEqual(agentSteps(log));
        }
      }
      expect(views).toBeGreaterThan(0);
    });
  }
});

describe("a view of a server that is killed and started again", () => {
  let base: string;
  let server: ServerProcess;
  let address: SteadyAddress;

  const start = async (): Promise<ServerProcess> => {
    const started = await startServing([
      ...["--data", join(base, "data"), "--workspace", join(base, "work")],
      ...["--allow-host", address.host],
    ]);
    address.lead(started.info.url);
    return started;
  };
  beforeEach(async () => {
    base = temporaryDirectory();
    await mkdir(join(base, "work"));
    address = await SteadyAddress.open();
    server = await start();
  });
  afterEach(async () => {
    await server.kill();
    await address[Symbol.asyncDispose]();
  });

  it("says that it is lost, and goes on at its open question", async () => {
    const { url } = address;
    const { token } = server.info;
    const view = createTaskView(connect(url, token), {
      ...QUICK,
      maxAttempts: Number.POSITIVE_INFINITY,
    });
    await view.send(
      "text Before.\nwrite asked.txt answered\ntext After.",
      soon(),
    );
    const [question] = view.snapshot().questions;
    await whileFollowing(view, async () => {
      await server.kill();
      await until(view, ({ lost }) => lost !== undefined);
      const answered = view.answer(
        question?.toolCallId ?? "",
        "proceed_once",
        soon(),
      );
      await until(view, ({ unsent }) => unsent.length === 1);
      server = await start();
      await answered;
    });
    expect(view.snapshot()).toMatchObject({
      lost: undefined,
      error: undefined,
      unsent: [],
    });
    expect(view.snapshot().task.state).toBe(TaskState.COMPLETED);
    expect(texts(view.snapshot())).toEqual([
      "text Before.\nwrite asked.txt answered\ntext After.",
      "Before.",
      "After.",
    ]);
    expect(fileText(base, "work/asked.txt")).toBe("answered");
  });

  it("shows what a restart made of the work that it cut", async () => {
    const { url } = address;
    const { token } = server.info;
    const view = createTaskView(connect(url, token), QUICK);
    const sent = view.send("text Before.\nwait 600000", soon());
    await until(view, (snapshot) => texts(snapshot).includes("Before."));
    await server.kill();
    server = await start();
    await sent;
    expect(view.snapshot().task).toMatchObject({
      state: TaskState.INPUT_REQUIRED,
    });
    expect(view.snapshot().task.stateText).toContain("Send a message to go on");
    await view.send("text Here.", soon());
    expect(texts(view.snapshot()).at(-1)).toBe("Here.");
    expect(view.snapshot().task).toEqual(
      await folded(connect(url, token), view.snapshot().task.id),
    );
  });
});

function connect(baseUrl: string, token: string): DevtoolClient {
  const interceptors = [bearerInterceptor(token)];
  return createDevtoolClient(
    createConnectTransport({
      baseUrl,
      httpVersion: "1.1",
      interceptors,
      nodeOptions: { agent: false },
    }),
  );
}

function texts({ items }: TaskSnapshot): string[] {
  return items.flatMap(({ part }) =>
    part.content.case === "text" ? [part.content.value] : [],
  );
}

/** Who said what, without what a protocol adds to messages. */
function said({ history }: Task): unknown {
  return history.map(({ role, messageId, parts }) => ({
    role,
    messageId,
    parts,
  }));
}

/**
 * A2A 0.3 shows of the user's messages those that the client itself has sent.
 */
function agentSteps({ history }: Task): unknown {
  return history
    .filter(({ role }) => role === Role.AGENT)
    .map((message) => toJson(MessageSchema, message));
}

async function folded(client: DevtoolClient, taskId: string): Promise<Task> {
  let task = emptyTask();
  const events: AsyncIterable<TaskEvent> = subscribeTask(
    client,
    { taskId },
    soon(),
  );
  for await (const event of events) {
    task = reduceTask(task, event);
    // A task that waits for its user keeps its stream open.
    if (
      task.sequence === (await client.tasks.getTask({ taskId })).task?.sequence
    ) {
      break;
    }
  }
  return task;
}
