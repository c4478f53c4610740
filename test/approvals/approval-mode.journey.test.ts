import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  fromBinary,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  AuditAction,
  EventRowSchema,
  emptyTask,
  type Part,
  reduceTask,
  type SendMessageRequestSchema,
  type Task,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CLIENTS, clientOf } from "../client-of.ts";

const { DEFAULT, PLAN, AUTO_EDIT, YOLO } = ApprovalMode;

describe("the approval mode of a later message (SESSION-4)", () => {
  let workspace: string;
  let dataDirectory: string;
  let server: DevtoolServer;

  beforeEach(() => {
    workspace = temporaryDirectory();
    dataDirectory = temporaryDirectory();
  });
  afterEach(() => server.close());

  it.each([
    "A2A 0.3 over JSON-RPC",
    "A2A 1.0 over JSON-RPC",
    "Connect",
  ] as const)(
    "narrows the session over %s, and its later tasks",
    async (dialect) => {
      await serve(YOLO);
      const client = CLIENTS[dialect](server);
      const first = await say("write one.txt 1", { client });
      expect([
        first.task.state,
        existsSync(join(workspace, "one.txt")),
      ]).toEqual([TaskState.COMPLETED, true]);
      const { contextId } = first.task;
      const second = await say("write two.txt 2\ntext Planned.", {
        client,
        mode: PLAN,
        contextId,
      });
      expect(second.text).toContain("Planned.");
      await say("write three.txt 3", { client, contextId });
      await expectOnly("one.txt");
    },
  );

  it("goes on from a message to the same task, and over a restart", async () => {
    await serve(YOLO);
    const { task } = await say("write one.txt 1");
    await say("write two.txt 2", { mode: PLAN, task });
    await server.close();
    await serve(YOLO);
    const third = await say("write three.txt 3", { task: await read(task) });
    expect(third.task.sessionSettings?.approvalMode).toBe(PLAN);
    await expectOnly("one.txt");
    await say("write four.txt 4", { contextId: task.contextId });
    await expectOnly("one.txt");
  });

  it("widens the session as far as the operator allows, and no further", async () => {
    await serve(AUTO_EDIT);
    const { task } = await say("write one.txt 1", { mode: PLAN });
    await expectOnly();
    const wide = await say("write one.txt 1\nrun touch two.txt", {
      mode: YOLO,
      task,
    });
    expect(pendingToolCalls(wide.task).map(({ toolName }) => toolName)).toEqual(
      ["run_shell_command"],
    );
    await expectOnly("one.txt");
  });

  it("F-H1: is never wider than where its conversation began, whichever server goes on", async () => {
    await serve(DEFAULT);
    const asking = await say("write one.txt 1\nnext\nwrite two.txt 2", {
      mode: YOLO,
    });
    expect(asking.task.approvalLimit).toBe(DEFAULT);
    await server.close();
    await serve(YOLO);
    const parts = pendingToolCalls(await read(asking.task)).map((call) =>
      confirmationPart(call, "proceed_once"),
    );
    const { task } = await answer(await read(asking.task), parts);
    expect(pendingToolCalls(task)).toHaveLength(1);
    await expectOnly("one.txt");
    const { contextId } = task;
    for (const to of [{ contextId }, { contextId, mode: YOLO }]) {
      const later = await say("write three.txt 3", to);
      expect(pendingToolCalls(later.task)).toHaveLength(1);
    }
    await expectOnly("one.txt");
    await say("write four.txt 4");
    await expectOnly("one.txt", "four.txt");
  });

  it("F-H1: is at most the default where the log of a task does not say its limit", async () => {
    await serve(DEFAULT);
    const { task } = await say("text One.");
    await server.close();
    forgetLimits();
    await serve(YOLO);
    const { contextId } = task;
    for (const to of [
      { task },
      { task: await read(task), mode: YOLO },
      { contextId },
      { contextId, mode: YOLO },
    ]) {
      const later = await say("write one.txt 1", to);
      expect(pendingToolCalls(later.task)).toHaveLength(1);
      await answer(later.task, [
        confirmationPart(
          pendingToolCalls(later.task)[0] ?? expect.fail(),
          "cancel",
        ),
      ]);
    }
    await expectOnly();
  });

  it("is in the log with each event, and in the audit", async () => {
    await serve(DEFAULT);
    const { task, events: before } = await say("text One.", { mode: DEFAULT });
    const { events } = await say("write two.txt 2\ntext Two.", {
      mode: PLAN,
      task,
    });
    expect(new Set(before.map(({ approvalMode }) => approvalMode))).toEqual(
      new Set([DEFAULT]),
    );
    expect(new Set(events.map(({ approvalMode }) => approvalMode))).toEqual(
      new Set([PLAN]),
    );
    const records = await audit();
    expect(records.map(({ action }) => AuditAction[action])).toEqual([
      "APPROVAL_MODE_CHANGED",
      "DENIED",
    ]);
    expect(records[0]).toMatchObject({
      shown: "PLAN",
      principal: "local",
      taskId: task.id,
      sequence: events[0]?.sequence,
    });
  });

  it("of a new task of the session is in the audit, too; the same mode again changes nothing", async () => {
    await serve(DEFAULT);
    const { task } = await say("text One.", { mode: DEFAULT });
    await say("text Two.", { mode: DEFAULT, task });
    const next = await say("text Three.", {
      mode: PLAN,
      contextId: task.contextId,
    });
    await say("text Four.", { mode: PLAN, contextId: task.contextId });
    expect(await audit()).toMatchObject([
      {
        action: AuditAction.APPROVAL_MODE_CHANGED,
        shown: "PLAN",
        taskId: next.task.id,
        sequence: 1n,
      },
    ]);
  });

  it("waits with its message while a question is open: the answer is to the question that was shown", async () => {
    await serve(DEFAULT);
    const asking = await say("write one.txt 1\nwrite two.txt 2");
    const asked = pendingToolCalls(asking.task);
    await clientOf(server).tasks.sendMessage({
      message: textMessage(
        crypto.randomUUID(),
        "write three.txt 3\ntext Planned.",
      ),
      sessionSettings: { approvalMode: PLAN },
      taskId: asking.task.id,
      returnImmediately: true,
    });
    const waiting = await read(asking.task);
    expect(
      waiting.sessionSettings?.approvalMode ?? ApprovalMode.UNSPECIFIED,
    ).toBe(ApprovalMode.UNSPECIFIED);
    expect(waiting.queuedMessages).toMatchObject([{ approvalMode: PLAN }]);
    const { task } = await answer(
      waiting,
      asked.map((call) => confirmationPart(call, "proceed_once")),
    );
    expect((await settled(task)).sessionSettings?.approvalMode).toBe(PLAN);
    await expectOnly("one.txt", "two.txt");
  });

  it("is that of the last message of a queue that was taken", async () => {
    await serve(YOLO);
    const { task } = await say("text One.");
    const { tasks } = clientOf(server);
    const send = (script: string, approvalMode: ApprovalMode) =>
      tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), script),
        sessionSettings: { approvalMode },
        taskId: task.id,
        returnImmediately: true,
      });
    const working = await tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), "wait 600"),
      taskId: task.id,
      returnImmediately: true,
    });
    expect(working.task?.state).toBe(TaskState.WORKING);
    await send("write two.txt 2", PLAN);
    await send("write three.txt 3", YOLO);
    const ended = await settled(task);
    expect(ended.sessionSettings?.approvalMode).toBe(YOLO);
    expect(existsSync(join(workspace, "two.txt"))).toBe(false);
    expect(existsSync(join(workspace, "three.txt"))).toBe(true);
  });

  it("N1: cannot come with an answer, which decides about what was shown, nor can another setting", async () => {
    await serve(DEFAULT);
    const { task } = await say("write one.txt 1");
    const parts = pendingToolCalls(task).map((call) =>
      confirmationPart(call, "proceed_once"),
    );
    await expect(answer(task, parts, PLAN)).rejects.toThrow(
      'session_settings.approval_mode "PLAN" is not that of this session, and only a message that starts a turn changes it: send it with a message',
    );
    for (const settings of [
      { message: { parts, model: "conformance-first" } },
      {
        message: { parts },
        sessionSettings: { model: "conformance-first" },
      },
      { message: { parts, agentOptions: { effort: "high" } } },
    ]) {
      const message = { messageId: crypto.randomUUID(), ...settings.message };
      await expect(
        follow({ ...settings, message, taskId: task.id }, task),
      ).rejects.toThrow(
        /^\[invalid_argument\] (model "conformance-first" is not that of this session|message.agent_options is the server's)/,
      );
    }
    expect((await read(task)).sequence).toBe(task.sequence);
    const same = await answer(task, parts);
    expect(same.task.state).toBe(TaskState.COMPLETED);
  });

  it("is refused before anything is stored where the agent cannot change it", async () => {
    server = await createServer({
      workspace,
      agents: {
        fixed: {
          about: { name: "Fixed", description: "Keeps its mode." },
          open: () => ({
            createExecutor: () => ({
              async *execute() {
                yield {
                  case: "end",
                  value: { state: TaskState.INPUT_REQUIRED, text: "Done." },
                };
              },
            }),
          }),
        },
      },
    });
    const { task } = await say("one", { mode: YOLO });
    const refusal =
      'session_settings.approval_mode "PLAN" cannot be used: agent "fixed" does not follow it: leave it out';
    await expect(say("one", { mode: PLAN })).rejects.toThrow(refusal);
    await expect(say("two", { mode: PLAN, task })).rejects.toThrow(refusal);
    await expect(
      say("two", { mode: PLAN, contextId: task.contextId }),
    ).rejects.toThrow(refusal);
    expect((await read(task)).sequence).toBe(task.sequence);
    const { tasks } = await clientOf(server).tasks.listTasks({
      contextId: task.contextId,
    });
    expect(tasks).toHaveLength(1);
    const again = await say("three", { mode: YOLO, task });
    expect(again.task.sequence).toBeGreaterThan(task.sequence);
  });

  it("comes without options of the agent: ours has none", async () => {
    await serve(DEFAULT);
    const { task } = await say("text One.");
    const { tasks } = clientOf(server);
    const message = textMessage(crypto.randomUUID(), "text Two.");
    const sessionSettings = { agentOptions: { effort: "high" } };
    for (const place of [
      { taskId: task.id },
      { contextId: task.contextId },
      {},
    ]) {
      await expect(
        tasks.sendMessage({ message, sessionSettings, ...place }),
      ).rejects.toThrow(
        'session_settings.agent_options "effort" cannot be used: agent "devtool" does not follow it: leave it out',
      );
    }
    expect((await read(task)).sequence).toBe(task.sequence);
  });

  async function serve(approvalMode: ApprovalMode): Promise<void> {
    server = await serveCodingAgent({
      workspace,
      dataDirectory,
      approvalMode,
      sandbox: "none",
    });
  }

  /** Leaves the logs as versions did that did not record the limit. */
  function forgetLimits(): void {
    const database = new DatabaseSync(join(dataDirectory, "tasks.db"));
    const rows = database
      .prepare("SELECT task_id, data FROM event WHERE sequence = 1")
      .all();
    for (const { task_id = null, data } of rows) {
      if (!(data instanceof Uint8Array)) expect.fail("no event");
      const row = fromBinary(EventRowSchema, data);
      const payload = row.events[0]?.payload;
      if (payload?.case !== "created") expect.fail("no first event");
      payload.value.approvalLimit = ApprovalMode.UNSPECIFIED;
      database
        .prepare("UPDATE event SET data = ? WHERE task_id = ? AND sequence = 1")
        .run(toBinary(EventRowSchema, row), task_id);
    }
    database.close();
  }

  /** Sends a script and follows its task until it rests. */
  async function say(script: string, to: Recipient = {}): Promise<Said> {
    const {
      mode = ApprovalMode.UNSPECIFIED,
      task,
      contextId,
      client = clientOf(server),
    } = to;
    const message = textMessage(crypto.randomUUID(), script);
    const place = task ? { taskId: task.id } : { contextId: contextId ?? "" };
    return follow(
      { message, ...place, sessionSettings: { approvalMode: mode } },
      task,
      client,
    );
  }

  function answer(
    task: Task,
    parts: Part[],
    approvalMode = ApprovalMode.UNSPECIFIED,
  ): Promise<Said> {
    const message = { messageId: crypto.randomUUID(), parts };
    return follow(
      { message, taskId: task.id, sessionSettings: { approvalMode } },
      task,
    );
  }

  async function follow(
    request: MessageInitShape<typeof SendMessageRequestSchema>,
    from: Task = emptyTask(),
    client: DevtoolClient = clientOf(server),
  ): Promise<Said> {
    const events: TaskEvent[] = [];
    let task = from;
    for await (const event of streamMessage(
      client,
      request,
      AbortSignal.timeout(180_000),
    )) {
      events.push(event);
      task = reduceTask(task, event);
    }
    const text = events
      .map(({ payload }) => (payload.case === "text" ? payload.value.text : ""))
      .join("");
    return { task, events, text };
  }

  async function read({ id }: Task): Promise<Task> {
    const { task } = await clientOf(server).tasks.getTask({ taskId: id });
    return task ?? expect.fail("no task");
  }

  /** The task once it has no message left and has ended. */
  async function settled(task: Task): Promise<Task> {
    const isSettled = ({ state, queuedMessages }: Task): boolean =>
      state === TaskState.COMPLETED && queuedMessages.length === 0;
    await expect
      .poll(async () => isSettled(await read(task)), { timeout: 60_000 })
      .toBe(true);
    return read(task);
  }

  async function audit() {
    const records = [];
    for await (const { record } of clientOf(server).audit.readAudit({})) {
      if (record) records.push(record);
    }
    return records;
  }

  async function expectOnly(...files: readonly string[]): Promise<void> {
    const all = ["one.txt", "two.txt", "three.txt", "four.txt"];
    expect(all.filter((file) => existsSync(join(workspace, file)))).toEqual(
      files,
    );
  }
});

interface Recipient {
  readonly mode?: ApprovalMode;
  /** The task to continue. */
  readonly task?: Task;
  /** The context of a new task. */
  readonly contextId?: string;
  readonly client?: DevtoolClient | undefined;
}

interface Said {
  readonly task: Task;
  readonly events: readonly TaskEvent[];
  readonly text: string;
}
