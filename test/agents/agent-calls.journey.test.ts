import { acpAgent } from "@devtool/acp";
import { fakeAgentCommand } from "@devtool/acp/testing";
import { runCommand } from "@devtool/cli/testing";
import {
  confirmationPart,
  type DevtoolClient,
  modifiedArgumentsPart,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  AuditAction,
  type AuditRecord,
  emptyTask,
  findToolCallDetail,
  reduceTask,
  type Task,
  TaskState,
  type ToolCall,
  toolCallsOf,
} from "@devtool/schema";
import { createServer, type DevtoolServer, verifyAudit } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";

const signal = AbortSignal.timeout(300_000);

/** The key of metadata that says which agents called each other. */
const CHAIN = "https://devtool.dev/a2a/call-chain/v1alpha";

describe("an agent that calls another agent of its server", () => {
  let server: DevtoolServer;
  let client: DevtoolClient;
  let workspace: string;
  beforeEach(async () => {
    workspace = temporaryDirectory();
    server = await createServer({
      agents: {
        main: codingAgent(),
        helper: codingAgent(),
        acp: acpAgent({ name: "acp", command: fakeAgentCommand() }),
      },
      workspace,
    });
    client = clientOf(server);
  });
  afterEach(() => server.close());

  it("asks first, shows what the agent does, and gets its answer with a way to go on", async () => {
    const asked = await send(callOf("helper", "text Hello from below."));
    const [call] = pendingToolCalls(asked);
    expect(call?.confirmationRequest?.details.value).toMatchObject({
      description:
        "Agent helper, of this server, gets:\ntext Hello from below.",
    });
    const done = await answer(asked);
    expect(done.state).toBe(TaskState.COMPLETED);
    const result = resultOf(done);
    expect(result).toMatch(
      /^Hello from below\.\n\n\[agent helper, task_id "[0-9a-f-]+": completed\]$/,
    );
    const { task } = await client.tasks.getTask({ taskId: childOf(done) });
    expect(task?.history[0]).toMatchObject({ referenceTaskIds: [done.id] });
    expect(task?.sessionSettings?.agent).toBe("helper");
  });

  it("has the chain in the audit log: where the work went, and what the task below may do", async () => {
    const { token } = server;
    const message = textMessage(
      crypto.randomUUID(),
      callOf("helper", "write made.txt content"),
    );
    const asked = await follow(
      {
        message,
        sessionSettings: {
          agent: "main",
          allowedTools: ["agent_helper", "write_file"],
        },
        messageSettings: { turn: { budget: { tokens: 900_000n } } },
      },
      emptyTask(),
    );
    const done = await answer(await answer(asked));
    const child = childOf(done);
    const read = async function* (): AsyncIterable<AuditRecord> {
      for await (const { record } of client.audit.readAudit({})) {
        if (record) yield record;
      }
    };
    const records = await Array.fromAsync(read());
    const at = (taskId: string): AuditRecord[] =>
      records.filter((record) => record.taskId === taskId);
    const { toolCallId } = lastCall(done);
    const seen = at(done.id).map((record) => [
      record.toolCallId === toolCallId ? "call" : "question",
      AuditAction[record.action],
      record.delegation?.agent,
      record.delegation?.taskId,
    ]);
    expect(seen).toEqual([
      ["call", "ASKED", undefined, undefined],
      ["call", "APPROVED", undefined, undefined],
      ["call", "STARTED", "helper", ""],
      ["question", "ASKED", "helper", child],
      ["question", "APPROVED", "helper", child],
      ["question", "STARTED", "helper", child],
      ["question", "SUCCEEDED", "helper", child],
      ["call", "SUCCEEDED", "helper", child],
    ]);
    // What the agent below says of its tool stands in what was shown alone.
    expect(records.every(({ delegation }) => !delegation?.tool)).toBe(true);
    const [first] = at(child);
    expect(AuditAction[first?.action ?? 0]).toBe("DELEGATED");
    expect(JSON.parse(first?.shown ?? "")).toEqual({
      chain: {
        parentTaskId: done.id,
        parentToolCallId: toolCallId,
        agents: [expect.stringMatching(/#main$/)],
      },
      created: {
        sessionSettings: {
          agent: "helper",
          approvalMode: "APPROVAL_MODE_DEFAULT",
          allowedTools: ["agent_helper", "write_file"],
        },
        message: { turnSettings: { budget: { tokens: "900000" } } },
      },
    });
    expect((await verifyAudit(read())).fault).toBeUndefined();
    const shown = await runCommand([
      ...["audit", "show", done.id.slice(0, 8)],
      ...["--url", server.url, "--token", token],
    ]);
    const lines = shown.out.trimEnd().split("\n");
    expect(lines).toHaveLength(at(done.id).length + at(child).length);
    expect(shown.out).toContain(
      `${done.id.slice(0, 8)} succeeded agent_helper at helper in task ${child.slice(0, 8)}\n`,
    );
    expect(shown.out).toContain(`${child.slice(0, 8)} delegated {"chain":`);
  });

  it("hands the agent's question up with its change and its path, and the answer down", async () => {
    const asked = await answer(
      await send(callOf("helper", "write made.txt content")),
    );
    expect(asked.state).toBe(TaskState.INPUT_REQUIRED);
    const [question] = pendingToolCalls(asked);
    expect(question?.confirmationRequest?.details).toMatchObject({
      case: "fileEditDetails",
      value: { fileName: "made.txt", newContent: "content" },
    });
    expect(question?.description).toMatch(
      /^Agent helper → "write_file" asks: "Create made.txt/,
    );
    expect(
      findToolCallDetail(asked, question?.toolCallId ?? "")?.delegation,
    ).toMatchObject({ agent: "helper", path: [], tool: "write_file" });
    const ids = question?.confirmationRequest?.options.map(({ id }) => id);
    expect(ids).toEqual(["proceed_once", "modify_with_editor", "cancel"]);
    const done = await answer(asked);
    expect(done.state).toBe(TaskState.COMPLETED);
    expect(fileText(workspace, "made.txt")).toBe("content");
  });

  it("hands edits down typed: of a file's content, and of a call's arguments", async () => {
    const asked = await answer(
      await send(callOf("helper", "write made.txt one\nrun echo first > ran")),
    );
    const [edit] = pendingToolCalls(asked);
    if (!edit) throw new Error("nothing is asked");
    const again = await reply(asked, [
      confirmationPart(edit, "modify_with_editor", "two"),
    ]);
    const [edited] = pendingToolCalls(again);
    expect(edited?.confirmationRequest?.details.value).toMatchObject({
      newContent: "two",
    });
    const command = await answer(again);
    expect(fileText(workspace, "made.txt")).toBe("two");
    const [run] = pendingToolCalls(command);
    if (!run) throw new Error("nothing is asked");
    expect(run.argumentsEditable).toBe(true);
    const changed = await reply(command, [
      modifiedArgumentsPart(run, { command: "echo second > ran" }),
    ]);
    expect(
      pendingToolCalls(changed)[0]?.confirmationRequest?.details.value,
    ).toMatchObject({ command: "echo second > ran" });
    const refused = await reply(changed, [
      modifiedArgumentsPart(pendingToolCalls(changed)[0] ?? run, { cmd: "x" }),
    ]);
    const [still] = pendingToolCalls(refused);
    expect(
      findToolCallDetail(refused, still?.toolCallId ?? "")?.reason,
    ).toContain("modified_arguments");
    const done = await answer(refused);
    expect(done.state).toBe(TaskState.COMPLETED);
    expect(fileText(workspace, "ran")).toBe("second\n");
  });

  it("asks again when the user edits and changes nothing, as the agent does", async () => {
    const asked = await answer(
      await send(callOf("helper", "write made.txt one\nrun echo one > ran")),
    );
    const [edit] = pendingToolCalls(asked);
    if (!edit) throw new Error("nothing is asked");
    const again = await reply(asked, [
      confirmationPart(edit, "modify_with_editor", "one"),
    ]);
    expect(pendingToolCalls(again)).toMatchObject([
      { toolCallId: edit.toolCallId, shownDigest: edit.shownDigest },
    ]);
    const command = await answer(again);
    const [run] = pendingToolCalls(command);
    if (!run) throw new Error("nothing is asked");
    let asking = command;
    // What the agent refuses twice with the same words is asked a third time.
    for (const args of [
      { command: "echo one > ran" },
      { cmd: "" },
      { cmd: "" },
    ]) {
      const [now = run] = pendingToolCalls(asking);
      asking = await reply(asking, [modifiedArgumentsPart(now, args)]);
      expect(pendingToolCalls(asking)).toHaveLength(1);
    }
    const done = await answer(asking);
    expect(done.state).toBe(TaskState.COMPLETED);
    expect(fileText(workspace, "made.txt")).toBe("one");
    expect(fileText(workspace, "ran")).toBe("one\n");
  });

  it("hands a decline down, and goes on with what the agent says then", async () => {
    const asked = await answer(
      await send(
        callOf("helper", "write made.txt content\ntext It is not made."),
      ),
    );
    const done = await answer(asked, "cancel");
    expect([done.state, resultOf(done)]).toEqual([
      TaskState.COMPLETED,
      expect.stringContaining("It is not made."),
    ]);
  });

  it("hands the question of an ACP agent up, over an agent between them", async () => {
    const inner = JSON.stringify({ message: "ask make" });
    const first = await answer(
      await send(callOf("helper", `call agent_acp ${inner}`)),
    );
    const second = await answer(first);
    const [question] = pendingToolCalls(second);
    expect(question?.description).toMatch(/^Agent helper → "acp" → /);
    const { delegation } =
      findToolCallDetail(second, question?.toolCallId ?? "") ?? {};
    expect(delegation).toMatchObject({ agent: "helper", path: ["acp"] });
    const done = await answer(second);
    expect(done.state).toBe(TaskState.COMPLETED);
    expect(resultOf(done)).toContain("agent helper");
  });

  it("goes on with an earlier task of the agent, and with no other", async () => {
    const first = await answer(await send(callOf("helper", "text One.")));
    const taskId = childOf(first);
    const more = JSON.stringify({ message: "text Two.", task_id: taskId });
    const done = await answer(await send(`call agent_helper ${more}`, first));
    expect(resultOf(done)).toContain("Two.");
    expect(childOf(done)).toBe(taskId);
    const foreign = JSON.stringify({ message: "text", task_id: first.id });
    const refused = await send(`call agent_helper ${foreign}`, done);
    expect(lastCall(refused).result.value).toMatchObject({
      type: "invalid_tool_params",
    });
  });

  it("cancels the agent's task with its own, at a question and at work", async () => {
    for (const script of ["write made.txt x", "wait 600000"]) {
      const asked = await send(callOf("helper", script));
      const parts = pendingToolCalls(asked).map((call) =>
        confirmationPart(call, "proceed_once"),
      );
      await client.tasks.sendMessage({
        taskId: asked.id,
        message: { messageId: crypto.randomUUID(), parts },
        returnImmediately: true,
      });
      const child = await until(async () => {
        const { task } = await client.tasks.getTask({ taskId: asked.id });
        const id = task && childOf(task);
        if (!id) return undefined;
        const isReady =
          script.startsWith("wait") || task.state === TaskState.INPUT_REQUIRED;
        return isReady ? id : undefined;
      });
      await client.tasks.cancelTask({ taskId: asked.id });
      const { task } = await client.tasks.getTask({ taskId: child });
      expect(task?.state).toBe(TaskState.CANCELED);
    }
  });

  it("drops its question when the agent's task was answered elsewhere", async () => {
    const asked = await answer(
      await send(callOf("helper", "write made.txt x\ntext Made.")),
    );
    const taskId = childOf(asked);
    const { task } = await client.tasks.getTask({ taskId });
    if (!task) throw new Error("there is no task");
    await answer(task);
    const done = await until(async () => {
      const found = await client.tasks.getTask({ taskId: asked.id });
      return found.task?.state === TaskState.COMPLETED ? found.task : undefined;
    });
    expect(resultOf(done)).toContain("Made.");
    expect(pendingToolCalls(done)).toEqual([]);
  });

  it("gives the agent no more than it has itself", async () => {
    const request = {
      message: textMessage(crypto.randomUUID(), callOf("acp", "text Hi.")),
      sessionSettings: { allowedTools: ["agent_acp"] },
    };
    const asked = await follow(request, emptyTask());
    const refused = await answer(asked);
    expect(lastCall(refused).result.value).toMatchObject({
      message: expect.stringContaining("does not follow allowed_tools"),
    });
    const narrow = await answer(
      await follow(
        {
          message: textMessage(
            crypto.randomUUID(),
            callOf("helper", "write made.txt x\ntext No."),
          ),
          sessionSettings: { allowedTools: ["agent_helper"] },
        },
        emptyTask(),
      ),
    );
    expect(narrow.state).toBe(TaskState.COMPLETED);
    const { task } = await client.tasks.getTask({ taskId: childOf(narrow) });
    expect(task && lastCall(task).result.value).toMatchObject({
      message: expect.stringContaining("is not among the allowed_tools"),
    });
  });

  it("has no tool for an agent above itself", async () => {
    const inner = callOf("main", "text Bottom.");
    const done = await answer(await send(callOf("helper", inner)));
    expect(done.state).toBe(TaskState.COMPLETED);
    const { task } = await client.tasks.getTask({ taskId: childOf(done) });
    expect(task && lastCall(task).result.value).toMatchObject({
      type: "tool_not_registered",
    });
  });

  it("narrows itself for any chain that a message claims, and names none of it", async () => {
    const claim = (agents: string | string[]) =>
      follow(
        {
          message: {
            ...textMessage(crypto.randomUUID(), callOf("helper", "text Hi.")),
            metadata: { [CHAIN]: { agents } },
          },
        },
        emptyTask(),
      );
    const deep = await claim(["https://a#x", "https://b#y", "https://c#z"]);
    expect(lastCall(deep).result.value).toMatchObject({
      type: "tool_not_registered",
    });
    const loop = await claim([`${server.url}#main`]);
    expect([loop.state, loop.error]).toEqual([
      TaskState.FAILED,
      expect.stringContaining("was called by itself"),
    ]);
    const broken = await claim("nobody");
    expect([broken.state, broken.error]).toEqual([
      TaskState.FAILED,
      expect.stringContaining("is not a call chain"),
    ]);
    const forged = await claim(["the operator's own agent"]);
    const text = JSON.stringify(pendingToolCalls(forged));
    expect(text).toContain("Agent helper");
    expect(text).not.toContain("operator");
  });

  function callOf(agent: string, message: string): string {
    return `call agent_${agent} ${JSON.stringify({ message })}`;
  }

  function send(text: string, before: Task = emptyTask()): Promise<Task> {
    const message = textMessage(crypto.randomUUID(), text);
    return follow({ message, taskId: before.id }, before);
  }

  function answer(task: Task, option = "proceed_once"): Promise<Task> {
    const parts = pendingToolCalls(task).map((call) =>
      confirmationPart(call, option),
    );
    return reply(task, parts);
  }

  function reply(
    task: Task,
    parts: ReturnType<typeof confirmationPart>[],
  ): Promise<Task> {
    const message = { messageId: crypto.randomUUID(), parts };
    return follow({ message, taskId: task.id }, task);
  }

  async function follow(
    request: Parameters<typeof streamMessage>[1],
    before: Task,
  ): Promise<Task> {
    let task = before;
    for await (const event of streamMessage(client, request, signal)) {
      task = reduceTask(task, event);
    }
    return task;
  }
});

/** The last tool call of a task that is no question. */
function lastCall(task: Task): ToolCall {
  const calls = task.history
    .flatMap(toolCallsOf)
    .filter(
      ({ toolCallId }) =>
        !findToolCallDetail(task, toolCallId)?.parentToolCallId,
    );
  const call = calls.at(-1);
  if (!call) throw new Error("there is no call");
  return call;
}

function resultOf(task: Task): string {
  const { result } = lastCall(task);
  if (result.case !== "output" || result.value.result.case !== "text") {
    throw new Error(JSON.stringify(result.value));
  }
  return result.value.result.value;
}

function childOf(task: Task): string {
  const { toolCallId } = lastCall(task);
  return findToolCallDetail(task, toolCallId)?.delegation?.taskId ?? "";
}

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
