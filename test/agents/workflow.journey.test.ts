import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { runCommand } from "@devtool/cli/testing";
import {
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { PostgresStore } from "@devtool/postgres";
import {
  ApprovalMode,
  FailureAction,
  type SessionSettingsSchema,
  type Task,
  TaskState,
  type Workflow,
} from "@devtool/schema";
import {
  type Agent,
  createServer,
  type DevtoolServer,
  type ServerOptions,
} from "@devtool/server";
import { Code, DevtoolError } from "@devtool/server/agent";
import { defineWorkflow, readWorkflow, workflowAgent } from "@devtool/workflow";
import { dbosEngine } from "@devtool/workflow/dbos";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
} from "vitest";
import { clientOf } from "../client-of.ts";
import { LEFT_TO_CI } from "../depth.ts";
import { LEASE_MS } from "../fleet/replicas.ts";
import { describeWithPostgres } from "../fleet/with-postgres.ts";

/** What the plain agents of the tests were told, in order. */
let told: string[] = [];
let active = 0;
let mostActive = 0;

/** An agent that answers each message with what a function returns. */
function plainAgent(
  name: string,
  answer: (message: string, signal: AbortSignal) => string | Promise<string>,
): Agent {
  return {
    about: { name, description: `Plain ${name}.` },
    open: () => ({
      createExecutor: () => ({
        async *execute(turn, signal) {
          const [part] = turn.prompt?.parts ?? [];
          const text = part?.content.case === "text" ? part.content.value : "";
          told.push(`${name}: ${text}`);
          mostActive = Math.max(mostActive, ++active);
          try {
            yield { case: "text", value: await answer(text, signal) };
          } finally {
            active--;
          }
        },
      }),
    }),
  };
}

const echo = plainAgent("echo", (message) => `echo of ${message}`);

/** The workflow that docs/agent-calls.md shows. */
const RELEASE = readWorkflow(
  /<!-- workflow: release\.yaml -->\n```yaml\n(.*?)```/s.exec(
    readFileSync(new URL("../../docs/agent-calls.md", import.meta.url), "utf8"),
  )?.[1] ?? "",
  "release.yaml",
);

/** Where the runs of a server are kept: the rest is the same. */
interface Keeping {
  /** Options of `workflowAgent`. */
  readonly workflow: NonNullable<Parameters<typeof workflowAgent>[1]>;
  readonly server: Pick<ServerOptions, "openStore">;
}

describe("a workflow that the log of its task keeps", () => {
  playAll(() => ({ workflow: {}, server: {} }));
});

describe("a step of a workflow on SQLite", () => {
  it("is committed with the task of its agent, not piece by piece", async () => {
    const steps = Array.from({ length: 10 }, (_none, at) => ({
      id: `s${at}`,
      agent: "echo",
      task: "go",
      dependencies: at === 0 ? [] : [`s${at - 1}`],
    }));
    const flow = defineWorkflow({ name: "flow", steps });
    const server = await createServer({
      agents: { flow: workflowAgent(flow), echo },
      workspace: temporaryDirectory(),
      dataDirectory: temporaryDirectory(),
    });
    let commits = 0;
    const count = (): void => void commits++;
    subscribe("devtool:store.commit.after", count);
    try {
      const { task } = await clientOf(server).tasks.sendMessage({
        message: textMessage("run", "go"),
      });
      expect(task?.state, task?.error).toBe(TaskState.COMPLETED);
      // Its start, all of its task, and its end with the start of the next one.
      expect(commits).toBeLessThanOrEqual(2 * steps.length + 4);
    } finally {
      unsubscribe("devtool:store.commit.after", count);
      await server.close();
    }
  });
});

describeWithPostgres(
  "a workflow that DBOS keeps",
  (database) => {
    let engine: ReturnType<typeof dbosEngine>;
    let started: AsyncDisposable;
    beforeAll(async () => {
      engine = dbosEngine({ url: database.url });
      // Servers of the tests come and go.
      started = await engine.start("tests");
    });
    afterAll(() => started[Symbol.asyncDispose]());

    let schemas = 0;
    describe("plays as one in a log", () => {
      playAll(() => {
        const schema = `store_${schemas++}`;
        const openStore = (): Promise<PostgresStore> =>
          PostgresStore.open({ url: database.url, schema, leaseMs: LEASE_MS });
        return { workflow: { engine }, server: { openStore } };
      });
    });

    it("has each try that ended as a workflow of DBOS", async () => {
      const rows = await database.run(
        "select status, count(*) from devtool_dbos.workflow_status group by 1",
      );
      const counts = Object.fromEntries(
        rows.map(({ status, count }) => [status, Number(count)]),
      );
      expect(counts.SUCCESS).toBeGreaterThan(30);
      expect(counts).not.toHaveProperty("PENDING");
    });

    it("leaves nothing in DBOS of a run that is deleted, and all of another one", async () => {
      const flow = defineWorkflow({
        name: "flow",
        steps: ["a", "b"].map((id) => ({
          id,
          agent: "echo",
          task: "{{input.text}}",
        })),
      });
      await using server = await createServer({
        // Two agents share the engine.
        agents: {
          flow: workflowAgent(flow, { engine }),
          other: workflowAgent({ ...flow, name: "other" }, { engine }),
          echo,
        },
        workspace: temporaryDirectory(),
      });
      const { tasks } = clientOf(server);
      const tables = await database.run(
        "select table_name as name from information_schema.tables where table_schema = 'devtool_dbos'",
      );
      const kept = async (): Promise<string[]> => {
        const all = await Promise.all(
          tables.map(({ name }) =>
            database.run(
              `select each::text as row from devtool_dbos.${name} each`,
            ),
          ),
        );
        return ["first-secret", "second-secret"].filter((text) =>
          all.flat().some(({ row }) => String(row).includes(text)),
        );
      };
      const [taskId = ""] = await Promise.all(
        ["first-secret", "second-secret"].map(async (text) => {
          const message = textMessage(text, text);
          const { task } = await tasks.sendMessage({ message });
          return task?.id;
        }),
      );
      expect(await kept()).toEqual(["first-secret", "second-secret"]);
      await tasks.deleteTask({ taskId });
      expect(await kept()).toEqual(["second-secret"]);
    });

    it("fails at once when the database refuses what DBOS keeps", async () => {
      const table = "alter table devtool_dbos.workflow_status";
      await database.run(
        `${table} add constraint none check (false) not valid`,
      );
      const flow = defineWorkflow({
        name: "flow",
        steps: [{ id: "only", agent: "echo", task: "go" }],
      });
      const server = await createServer({
        agents: { flow: workflowAgent(flow, { engine }), echo },
        workspace: temporaryDirectory(),
      });
      try {
        const { task } = await clientOf(server).tasks.sendMessage({
          message: textMessage("run", "go"),
        });
        expect(task?.state).toBe(TaskState.FAILED);
      } finally {
        await server.close();
        await database.run(`${table} drop constraint none`);
      }
    });
  },
  LEFT_TO_CI,
);

function playAll(keeping: () => Keeping): void {
  let server: DevtoolServer;
  let client: DevtoolClient;
  let workspace: string;

  beforeEach(() => {
    told = [];
    active = 0;
    mostActive = 0;
    workspace = temporaryDirectory();
  });
  afterEach(() => server.close());

  async function serve(
    workflows: readonly Workflow[],
    agents: Readonly<Record<string, Agent>> = {},
  ): Promise<void> {
    const flows = workflows.map((one) => [
      one.name,
      workflowAgent(one, keeping().workflow),
    ]);
    server = await createServer({
      ...keeping().server,
      agents: {
        ...Object.fromEntries(flows),
        echo,
        coder: codingAgent(),
        ...agents,
      },
      workspace,
    });
    client = clientOf(server);
  }

  async function run(
    text: string,
    data?: Record<string, string>,
    sessionSettings: MessageInitShape<typeof SessionSettingsSchema> = {},
  ): Promise<Task> {
    const { task } = await client.tasks.sendMessage({
      sessionSettings,
      message: {
        messageId: crypto.randomUUID(),
        parts: [
          { content: { case: "text", value: text } },
          ...(data
            ? [{ content: { case: "data" as const, value: data } }]
            : []),
        ],
      },
    });
    if (!task) throw new Error("there is no task");
    return task;
  }

  async function answer(asked: Task, option = "proceed_once"): Promise<Task> {
    const parts = pendingToolCalls(asked).map((call) =>
      confirmationPart(call, option),
    );
    const { task } = await client.tasks.sendMessage({
      message: { messageId: crypto.randomUUID(), parts },
      taskId: asked.id,
    });
    if (!task) throw new Error("there is no task");
    return task;
  }

  it("gives each step what the steps before have come to, and answers with the last result", async () => {
    await serve([
      defineWorkflow({
        name: "chain",
        steps: [
          {
            id: "second",
            agent: "echo",
            task: "{{inputs.from}} and {{input.place}}",
            inputs: { from: "{{steps.first.result.text}}" },
            dependencies: ["first"],
          },
          { id: "first", agent: "echo", task: "{{input.text}}" },
        ],
        output: "{{steps.second.result.text}}!",
      }),
    ]);
    const task = await run("hi {{steps.first.result.text}}", { place: "here" });
    expect(task.state, task.error).toBe(TaskState.COMPLETED);
    expect(told).toEqual([
      "echo: hi {{steps.first.result.text}}",
      "echo: echo of hi {{steps.first.result.text}} and here",
    ]);
    expect(saidBy(task)).toBe(
      "echo of echo of hi {{steps.first.result.text}} and here!",
    );
    expect(runsOf(task)).toEqual(["first#1", "second#1"]);
    expect(task.workflowRun?.workflow?.name).toBe("chain");
  });

  it("reads the data of an answer by its fields, and says which there are", async () => {
    await serve(
      [
        defineWorkflow({
          name: "data",
          steps: [
            { id: "a", agent: "json", task: "go" },
            {
              id: "b",
              agent: "echo",
              task: "{{steps.a.result.version}} {{steps.a.result.list.deep}}",
              dependencies: ["a"],
            },
          ],
        }),
      ],
      {
        json: plainAgent("json", () => '{"version":"1.2","list":{"deep":[1]}}'),
      },
    );
    expect(saidBy(await run("x"))).toBe("echo of 1.2 [1]");
  });

  it("runs side by side what may be, at most as many as it says", async () => {
    const gates = new Map<string, () => void>();
    await serve(
      [
        defineWorkflow({
          name: "wide",
          concurrency: 2,
          steps: ["a", "b", "c", "d"].map((id) => ({
            id,
            agent: "slow",
            task: id,
          })),
        }),
      ],
      {
        slow: plainAgent("slow", async (message) => {
          const opened = new Promise<void>((resolve) => {
            gates.set(message, resolve);
          });
          if (gates.size === 2 || gates.size === 4) {
            // A third one that did not wait would have begun by then.
            for (let trip = 0; trip < 30; trip++) {
              await client.tasks.listTasks({});
            }
            for (const open of gates.values()) open();
          }
          await opened;
          return message;
        }),
      },
    );
    expect(saidBy(await run("x"))).toBe("d");
    expect(mostActive).toBe(2);
  });

  it("tries again, and fails with the words of the agent", async () => {
    let tries = 0;
    await serve(
      [
        defineWorkflow({
          name: "again",
          steps: [{ id: "a", agent: "shaky", task: "go", retries: 2 }],
        }),
      ],
      {
        shaky: plainAgent("shaky", () => {
          if (++tries % 3 !== 0)
            throw new DevtoolError("no luck", Code.Aborted);
          if (tries > 3) throw new DevtoolError("never", Code.Aborted);
          return "luck";
        }),
      },
    );
    const task = await run("x");
    expect(runsOf(task)).toEqual(["a#1 no luck", "a#2 no luck", "a#3"]);
    expect(saidBy(task)).toBe("luck");
    const failed = await run("x");
    expect(failed.state).toBe(TaskState.FAILED);
    expect(failed.error).toMatch(/^step "a" failed: never/);
  });

  it("goes on behind a step that may fail, and undoes what a later failure spoils", async () => {
    await serve(
      [
        defineWorkflow({
          name: "saga",
          steps: [
            {
              id: "flaky",
              agent: "bad",
              task: "go",
              onFailure: FailureAction.CONTINUE,
            },
            {
              id: "book",
              agent: "echo",
              task: "book {{steps.flaky.error}}|{{steps.flaky.result.text}}|",
              dependencies: ["flaky"],
              undo: "cancel {{steps.book.result.text}}",
            },
            {
              id: "pay",
              agent: "echo",
              task: "pay",
              dependencies: ["book"],
              undo: "refund",
            },
            {
              id: "ship",
              agent: "bad",
              task: "ship",
              dependencies: ["pay"],
              onFailure: FailureAction.COMPENSATE,
            },
            { id: "after", agent: "echo", task: "x", dependencies: ["ship"] },
          ],
        }),
      ],
      {
        bad: plainAgent("bad", () => {
          throw new DevtoolError("broken", Code.Aborted);
        }),
      },
    );
    const task = await run("x");
    expect(task.state).toBe(TaskState.FAILED);
    expect(task.error).toMatch(/^step "ship" failed: broken/);
    const book = told[1]?.replace("echo: ", "") ?? "";
    expect(book).toMatch(/^book broken.*\|\|$/s);
    expect(told).toEqual([
      "bad: go",
      `echo: ${book}`,
      "echo: pay",
      "bad: ship",
      "echo: refund",
      `echo: cancel echo of ${book}`,
    ]);
  });

  it("ends the other steps when one fails, and a try that takes too long", async () => {
    const canceled: string[] = [];
    await serve(
      [
        defineWorkflow({
          name: "stop",
          steps: [
            { id: "long", agent: "waits", task: "long" },
            {
              id: "timed",
              agent: "waits",
              task: "timed",
              timeout: { seconds: 3n },
            },
          ],
        }),
      ],
      {
        waits: plainAgent("waits", async (message, signal) => {
          if (!signal.aborted) await once(signal, "abort");
          canceled.push(message);
          throw signal.reason;
        }),
      },
    );
    const task = await run("x");
    expect(task.error).toBe('step "timed" failed: it took more than 3 s');
    expect(canceled.sort()).toEqual(["long", "timed"]);
    const { tasks } = await client.tasks.listTasks({});
    expect(
      tasks.map(({ lastEvent }) => TaskState[lastEvent?.state ?? 0]).sort(),
    ).toEqual(["CANCELED", "CANCELED", "FAILED"]);
  });

  it("plays the release of docs/agent-calls.md: writes until the review approves, and asks before it publishes", async () => {
    let reviews = 0;
    await serve([RELEASE], {
      writer: plainAgent("writer", (message) =>
        message.startsWith("Write ") ? `notes ${reviews + 1}` : "Published.",
      ),
      reviewer: plainAgent("reviewer", () =>
        ++reviews === 2 ? "APPROVED." : `Shorter than ${reviews}.`,
      ),
    });
    const write = (said: string): string =>
      `writer: Write the release notes of v1.2.\nWhat the reviewer said of the last ones: ${said}\n`;
    const review = "reviewer: Say APPROVED, or what to change: notes";
    const drafted = [
      ...[write(""), `${review} 1`],
      ...[write("Shorter than 1."), `${review} 2`],
    ];
    const asked = await run("v1.2");
    expect(asked.state, asked.error).toBe(TaskState.INPUT_REQUIRED);
    expect(
      pendingToolCalls(asked)[0]?.confirmationRequest?.details.value,
    ).toMatchObject({
      description: "Publish v1.2?\n\nwriter gets:\nPublish: notes 2",
    });
    expect(told).toEqual(drafted);
    const published = await answer(asked);
    expect(saidBy(published)).toBe("Published.");
    expect(told).toEqual([...drafted, "writer: Publish: notes 2"]);
    const { task } = await client.tasks.getTask({ taskId: asked.id });
    expect(task && runsOf(task)).toEqual([
      "draft/1/write#1",
      "draft/1/review#1",
      "draft/2/write#1",
      "draft/2/review#1",
      "publish#1",
    ]);
    [told, reviews] = [[], 0];
    const declined = await answer(await run("v1.2"), "cancel");
    expect(declined.error).toBe('step "publish" failed: it was declined');
    expect(told).toEqual(drafted);
    const never = await run("v1.2");
    expect(never.error).toMatch(
      /^step "draft" failed: after 3 rounds, loop\.until does not begin with "APPROVED", but says "Shorter than 5\."/,
    );
  });

  it("hands up what a step asks, with its path, also out of a workflow inside", async () => {
    await serve([
      defineWorkflow({
        name: "outer",
        steps: [
          {
            id: "sub",
            workflow: "inner",
            task: "hi",
            inputs: { file: "made.txt" },
          },
        ],
      }),
      defineWorkflow({
        name: "inner",
        steps: [
          { id: "code", agent: "coder", task: "write {{input.file}} content" },
        ],
        output: "{{steps.code.result}}",
      }),
    ]);
    const asked = await run("x");
    expect(asked.state, asked.error).toBe(TaskState.INPUT_REQUIRED);
    const [question] = pendingToolCalls(asked);
    expect(question?.description).toMatch(
      /^Agent inner → "coder" → "write_file" asks: /,
    );
    const done = await answer(asked);
    expect(done.state, done.error).toBe(TaskState.COMPLETED);
    expect(fileText(workspace, "made.txt")).toBe("content");
  });

  it("cancels the tasks of its steps with it", async () => {
    let isCanceled = false;
    const begun = Promise.withResolvers<void>();
    await serve(
      [
        defineWorkflow({
          name: "cut",
          steps: [{ id: "a", agent: "waits", task: "go" }],
        }),
      ],
      {
        waits: plainAgent("waits", async (_, signal) => {
          begun.resolve();
          if (!signal.aborted) await once(signal, "abort");
          isCanceled = true;
          throw signal.reason;
        }),
      },
    );
    const message = textMessage(crypto.randomUUID(), "x");
    const { task } = await client.tasks.sendMessage({
      message,
      returnImmediately: true,
    });
    await begun.promise;
    await client.tasks.cancelTask({ taskId: task?.id ?? "" });
    expect(isCanceled).toBe(true);
  });

  it("goes on with a run of before: from a step, or with what had failed", async () => {
    let isBroken = true;
    await serve(
      [
        defineWorkflow({
          name: "fork",
          steps: [
            { id: "a", agent: "echo", task: "a" },
            { id: "b", agent: "shaky", task: "b", dependencies: ["a"] },
            { id: "c", agent: "echo", task: "c", dependencies: ["b"] },
          ],
        }),
      ],
      {
        shaky: plainAgent("shaky", () => {
          if (isBroken) throw new DevtoolError("broken", Code.Aborted);
          return "done";
        }),
      },
    );
    const failed = await run("x");
    expect(failed.state).toBe(TaskState.FAILED);
    isBroken = false;
    told = [];
    const fork = async (taskId: string, fromStep = ""): Promise<Task> => {
      const message = textMessage(crypto.randomUUID(), "fork");
      const { task } = await client.tasks.sendMessage({
        message,
        messageSettings: { turn: { workflowFork: { taskId, fromStep } } },
      });
      if (!task) throw new Error("there is no task");
      return task;
    };
    const resumed = await fork(failed.id);
    expect(resumed.state, resumed.error).toBe(TaskState.COMPLETED);
    expect(told).toEqual(["shaky: b", "echo: c"]);
    expect(resumed.workflowRun?.forkedFrom).toBe(failed.id);
    told = [];
    const again = await fork(resumed.id, "b");
    expect(again.state, again.error).toBe(TaskState.COMPLETED);
    expect(told).toEqual(["shaky: b", "echo: c"]);
    expect((await fork(resumed.id, "x")).error).toMatch(
      /from_step "x" is no step of that run: choose a, b, c/,
    );
    await expect(
      client.tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), "x"),
        sessionSettings: { agent: "echo" },
        messageSettings: { turn: { workflowFork: { taskId: failed.id } } },
      }),
    ).rejects.toThrow(/workflow_fork/);
  });

  it("has no step elsewhere, or by an agent that follows nothing, where the session is narrowed", async () => {
    const far = defineWorkflow({
      name: "far",
      steps: [{ id: "a", agent: "away", task: "a" }],
    });
    const near = defineWorkflow({
      name: "near",
      steps: [{ id: "a", agent: "echo", task: "a" }],
    });
    await serve([near], {
      far: workflowAgent(far, {
        ...keeping().workflow,
        remoteAgents: [
          { name: "away", url: "http://127.0.0.1:9", description: "" },
        ],
      }),
    });
    const same = { approvalMode: ApprovalMode.DEFAULT };
    expect(saidBy(await run("x", undefined, same))).toBe("echo of a");
    const plan = { approvalMode: ApprovalMode.PLAN };
    expect(saidBy(await run("x", undefined, plan))).toMatch(
      /agent "echo" does not follow approval_mode of this session/,
    );
    const tools = { allowedTools: ["read_file"] };
    for (const narrowed of [plan, tools]) {
      const setting = narrowed === plan ? "approval_mode" : "allowed_tools";
      const refused = await run("x", undefined, { agent: "far", ...narrowed });
      expect(refused.error).toBe(
        `workflow: step "a" names "away" elsewhere, which does not follow ${setting} of this session: leave ${setting} out, or have an agent of this server do the step`,
      );
    }
  });

  it("goes on with a run of before within its limits alone", async () => {
    await serve([
      defineWorkflow({
        name: "limits",
        steps: [{ id: "a", agent: "coder", task: "text hi" }],
      }),
    ]);
    const limits = {
      approvalMode: ApprovalMode.PLAN,
      allowedTools: ["read_file"],
    };
    const before = await run("x", undefined, limits);
    expect(before.state, before.error).toBe(TaskState.COMPLETED);
    const fork = async (sessionSettings: typeof limits): Promise<string> => {
      const { task } = await client.tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), "fork"),
        sessionSettings,
        messageSettings: { turn: { workflowFork: { taskId: before.id } } },
      });
      return task?.error ?? "";
    };
    expect(await fork(limits)).toBe("");
    expect(await fork({ ...limits, allowedTools: [] })).toMatch(
      /^the session allows more than that of run ".*": send the same session_settings\.allowed_tools/,
    );
    expect(
      await fork({ ...limits, approvalMode: ApprovalMode.UNSPECIFIED }),
    ).toMatch(/send the same session_settings\.approval_mode/);
  });

  it("goes on after a budget has cut it, with a further try", async () => {
    let tries = 0;
    await serve(
      [
        defineWorkflow({
          name: "cut",
          steps: [
            { id: "a", agent: "slow", task: "go" },
            { id: "b", agent: "echo", task: "b", dependencies: ["a"] },
          ],
        }),
      ],
      {
        slow: plainAgent("slow", async (_, signal) => {
          if (++tries > 1) return "done";
          if (!signal.aborted) await once(signal, "abort");
          throw signal.reason;
        }),
      },
    );
    const { task: cut } = await client.tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), "x"),
      messageSettings: { turn: { budget: { time: { nanos: 400_000_000 } } } },
    });
    expect(cut?.state).toBe(TaskState.INPUT_REQUIRED);
    const flags = ["--url", server.url, "--token", server.token];
    const shown = await runCommand([
      "workflow",
      "show",
      cut?.id ?? "",
      ...flags,
    ]);
    expect(shown.out).toContain("✗ a it was cut");
    const { task } = await client.tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), "Go on."),
      taskId: cut?.id ?? "",
    });
    expect([task?.state, task?.error]).toEqual([TaskState.COMPLETED, ""]);
    expect(told).toEqual(["slow: go", "slow: go", "echo: b"]);
  });

  it("tries again beside a question after a restart, before anybody opens the run", async () => {
    const { workflow: options, server: place } = keeping();
    const beside = defineWorkflow({
      name: "beside",
      steps: [
        {
          id: "a",
          agent: "shaky",
          task: "go",
          retries: 1,
          retryDelay: { seconds: 3600n },
        },
        { id: "b", agent: "echo", task: "b", approval: "Go on?" },
      ],
    });
    const shaky = plainAgent("shaky", () => {
      if (told.length > 1) return "done";
      throw new DevtoolError("no luck", Code.Aborted);
    });
    const dataDirectory = temporaryDirectory();
    const flow = workflowAgent(beside, options);
    const start = async (aheadMs: number): Promise<void> => {
      const now = (): Date => new Date(Date.now() + aheadMs);
      server = await createServer({
        ...place,
        dataDirectory,
        agents: {
          beside: {
            ...flow,
            open: (services) => flow.open({ ...services, now }),
          },
          shaky,
          echo,
        },
        workspace,
      });
      client = clientOf(server);
    };
    await start(0);
    const { id: taskId } = await run("x");
    const get = async (): Promise<Task | undefined> =>
      (await client.tasks.getTask({ taskId })).task;
    await expect
      .poll(async () => {
        const task = await get();
        return task && [task.state, ...runsOf(task)];
      })
      .toEqual([TaskState.INPUT_REQUIRED, "a#1 no luck"]);
    await server.close();
    await start(3_600_000);
    // No request opens the run.
    await expect.poll(() => told).toEqual(["shaky: go", "shaky: go"]);
    const asked = await get();
    const ended = asked && (await answer(asked));
    expect(ended?.state, ended?.error).toBe(TaskState.COMPLETED);
    expect(ended && runsOf(ended)).toEqual(["a#1 no luck", "a#2", "b#1"]);
  });

  it("does not begin where a step names an agent that is not there", async () => {
    await serve([
      defineWorkflow({
        name: "lost",
        steps: [
          { id: "a", agent: "echo", task: "a" },
          { id: "b", agent: "nobody", task: "b" },
        ],
      }),
    ]);
    const task = await run("x");
    expect(task.error).toMatch(
      /^workflow: step "b" names "nobody", which this run cannot call: choose .*echo/,
    );
    expect(told).toEqual([]);
  });
}

/** The last words of a task. */
function saidBy({ history, error }: Task): string {
  if (error !== "") return error;
  const { parts = [] } = history.at(-1) ?? {};
  return parts
    .map(({ content }) => (content.case === "text" ? content.value : ""))
    .join("");
}

/** The tries of steps, in the order in which they began. */
function runsOf({ history }: Task): string[] {
  return history.flatMap(({ parts }) =>
    parts.flatMap(({ toolCallDetail }) => {
      const { stepRun } = toolCallDetail ?? {};
      if (!stepRun) return [];
      const { path, attempt, error } = stepRun;
      const [words = ""] = error.split("\n");
      return `${path}#${attempt}${error === "" ? "" : ` ${words}`}`;
    }),
  );
}
