import { fileURLToPath } from "node:url";
import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  createTaskView,
  type DevtoolClient,
  modifiedArgumentsPart,
  pendingToolCalls,
  type TaskView,
} from "@devtool/client";
import { codexAgent } from "@devtool/codex";
import { FAKE_APP_SERVER } from "@devtool/codex/testing";
import { createMcp } from "@devtool/mcp";
import { McpServerSchema, TaskState } from "@devtool/schema";
import type { Agent } from "@devtool/server/agent";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { AcpWorld } from "../acp/agent/world.ts";
import { variantsOf } from "../depth.ts";
import { startServerProcess } from "../durability/crash/server-process.ts";
import { clientOf, Ground, lastContents, toldOf } from "../scenarios/ground.ts";
import { soon } from "../tasks.ts";

const FIXED = "modified_arguments cannot replace those of tool call";

describe("changed arguments (TOOL-12) of an agent whose calls cannot be changed", () => {
  it("are refused over ACP, and the question stays", async () => {
    await using acp = await new AcpWorld().start();
    const { task } = await acp.say("write a.txt theirs");
    const [call] = pendingToolCalls(task);
    if (!call) return expect.unreachable();
    expect(call.argumentsEditable).toBeUndefined();
    const parts = [
      modifiedArgumentsPart(call, { path: "b.txt", content: "mine" }),
    ];
    await expect(
      acp.client.tasks.sendMessage({
        taskId: task.id,
        message: { messageId: "m", parts },
      }),
    ).rejects.toThrow(
      `${FIXED} "${call.toolCallId}": its agent takes no changed arguments: choose another option`,
    );
    const { task: after } = await acp.client.tasks.getTask({ taskId: task.id });
    expect(after && pendingToolCalls(after)).toEqual([call]);
  });

  it.each([
    ["Codex", codex, "ask make"],
    ["Turn.call", asking, "ask"],
  ])(
    "are refused for %s, and nothing runs",
    async (_, agentIn: (home: string) => Agent, script) => {
      await using ground = await Ground.prepare();
      await using server = await ground.serve({
        agents: { agent: agentIn(ground.workspace) },
      });
      const view = createTaskView(clientOf(server, "Connect"));
      await view.send(script, soon());
      const before = view.snapshot().questions;
      expect(before.map(({ argumentsEditable }) => argumentsEditable)).toEqual([
        undefined,
      ]);
      await expect(edit(view, { command: "ls" })).rejects.toThrow(
        "its agent takes no changed arguments",
      );
      expect(view.snapshot().questions).toEqual(before);
    },
  );
});

describe("changed arguments (TOOL-12) of the coding agent", () => {
  it("are those that the model is told of, with whom they are from", async () => {
    await using ground = await Ground.prepare();
    await using server = await ground.serve();
    const view = createTaskView(clientOf(server, "Connect"));
    await view.send(
      "run eval echo theirs\nrun eval echo kept\ntext Done.",
      soon(),
    );
    await edit(view, { command: "eval echo mine" });
    for (const { toolCallId } of view.snapshot().questions) {
      await view.answer(toolCallId, "proceed_once", soon());
    }
    const parts = lastContents(ground.fake).flatMap((content) => content.parts);
    const args = parts.flatMap(({ functionCall }) =>
      functionCall ? [functionCall.args] : [],
    );
    expect(args).toEqual([
      { command: "eval echo mine" },
      { command: "eval echo kept" },
    ]);
    const note =
      "The user changed the arguments of this call; they are shown as the user wrote them.";
    expect(toldOf(ground.fake)).toMatchObject([
      { output: expect.stringContaining("mine"), note },
      { output: expect.any(String) },
    ]);
    expect(toldOf(ground.fake)[1]).not.toHaveProperty("note");
  });

  it("are checked by the schema of an MCP server, and a hostile schema holds nobody up", async () => {
    await using ground = await Ground.prepare();
    await using server = await ground.serve({ mcp: payments(ground) });
    const view = createTaskView(clientOf(server, "Connect"));
    await view.send(
      'call mcp__payments__pay {"to":"bob","amount":5}\ntext Done.',
      soon(),
    );
    for (const args of [
      { to: "eve", amount: 5 },
      { to: "ada" },
      { to: "ada", amount: 0 },
      { to: "ada", amount: 5, at: 1 },
    ]) {
      await expect(edit(view, args)).rejects.toThrow(
        "do not fit tool mcp__payments__pay",
      );
    }
    await edit(view, { to: "ada", amount: 1 });
    expect(view.snapshot().questions).toMatchObject([
      { inputParameters: { to: "ada", amount: 1 } },
    ]);
    await view.answer(
      view.snapshot().questions[0]?.toolCallId ?? "",
      "proceed_once",
      soon(),
    );
    expect(await ground.read("payments.txt")).toBe('{"to":"ada","amount":1}\n');

    await view.send('call mcp__payments__say {"word":"a"}\ntext Done.', soon());
    const began = process.cpuUsage().user;
    await edit(view, { word: `${"a".repeat(50_000)}!` }).catch(() => undefined);
    expect(process.cpuUsage().user - began).toBeLessThan(20_000_000);
    expect([
      view.snapshot().questions.length,
      await ground.read("payments.txt"),
    ]).toEqual([1, '{"to":"ada","amount":1}\n']);
  });

  it("cannot replace those of a question that a running call asks", async () => {
    await using ground = await Ground.prepare();
    const program = fileURLToPath(
      new URL("../scenarios/mcp-server.ts", import.meta.url),
    );
    const transport = {
      case: "stdio" as const,
      value: { command: process.execPath, args: [program] },
    };
    const mcp = createMcp({
      servers: [create(McpServerSchema, { name: "doorman", transport })],
    });
    await using server = await ground.serve({ mcp });
    const view = createTaskView(clientOf(server, "Connect"));
    await view.send("call mcp__doorman__greet {}", soon());
    await view.answer(
      view.snapshot().questions[0]?.toolCallId ?? "",
      "proceed_once",
      soon(),
    );
    expect(view.snapshot().questions[0]?.argumentsEditable).toBeUndefined();
    await expect(edit(view, { name: "me" })).rejects.toThrow(
      "it is a question of a running call",
    );
    await view.cancel(soon());
  });

  it.each(["Connect", "A2A 0.3", "A2A 1.0"] as const)(
    "are awaited by a view that has not read its log to the end: %s",
    async (dialect) => {
      await using ground = await Ground.prepare();
      await using server = await ground.serve();
      const first = createTaskView(clientOf(server, dialect));
      await first.send("run eval echo theirs\ntext Done.", soon());
      const { task, questions } = first.snapshot();
      await edit(first, { command: "eval echo mine" });

      const view = createTaskView(clientOf(server, dialect), {
        taskId: task.id,
        schedule: (notify) => notify(),
      });
      const leave = new AbortController();
      // The state of the task follows the question in the log, as the end of an
      // exchange.
      view.subscribe(() => {
        const [question] = view.snapshot().questions;
        if (question?.inputParameters?.command === "eval echo mine") {
          leave.abort();
        }
      });
      await view.follow(leave.signal);
      expect(view.snapshot().task.state).toBe(TaskState.WORKING);
      await view.answer(questions[0]?.toolCallId ?? "", "proceed_once", soon());
      expect(view.snapshot().task.state).toBe(TaskState.COMPLETED);
    },
  );

  it.each(variantsOf("dialects", ["Connect", "A2A 1.0"] as const, 1))(
    "survive kill -9, and run once they are approved: %s",
    async (dialect) => {
      await using ground = await Ground.prepare();
      vi.stubEnv("GEMINI_API_KEY", "k").stubEnv(
        "GOOGLE_GEMINI_BASE_URL",
        ground.fake.url,
      );
      onTestFinished(() => void vi.unstubAllEnvs());
      const place = { data: ground.dataDirectory, workspace: ground.workspace };
      const first = await startServerProcess(place);
      onTestFinished(() => first.kill());
      const before = createTaskView(clientOf(first.info, dialect));
      await before.send("run eval echo theirs >>a.txt\ntext Done.", soon());
      await edit(before, { command: "echo mine >>a.txt" });
      const asked = before.snapshot().questions[0];
      await first.kill();

      const second = await startServerProcess(place);
      onTestFinished(() => second.kill());
      const after = await reopened(
        clientOf(second.info, dialect),
        before,
        "echo mine >>a.txt",
      );
      expect(after.snapshot().questions[0]?.inputParameters).toEqual(
        asked?.inputParameters,
      );
      // Without a turn that runs, too.
      await expect(edit(after, { command: 5 })).rejects.toThrow(
        "must be of type string",
      );
      await edit(after, { command: "echo better >>a.txt" });
      await second.kill();

      const third = await startServerProcess(place);
      onTestFinished(() => third.kill());
      const last = await reopened(
        clientOf(third.info, dialect),
        before,
        "echo better >>a.txt",
      );
      await last.answer(asked?.toolCallId ?? "", "proceed_once", soon());
      expect([last.snapshot().task.state, await ground.read("a.txt")]).toEqual([
        TaskState.COMPLETED,
        "better\n",
      ]);
      expect(toldOf(ground.fake)).toMatchObject([
        { note: expect.stringContaining("The user changed the arguments") },
      ]);
    },
  );
});

function codex(home: string): Agent {
  return codexAgent({
    command: FAKE_APP_SERVER,
    environment: { CODEX_HOME: home, PATH: process.env.PATH ?? "" },
  });
}

/** An agent of one's own that asks before each call. */
function asking(): Agent {
  return {
    about: { name: "Asking", description: "Asks." },
    open: () => ({
      createExecutor: () => ({
        async *execute(turn, signal) {
          yield* turn.call(
            {
              toolName: "ask",
              description: "Ask",
              ask: "May I?",
              run: () => "done",
            },
            signal,
          );
        },
      }),
    }),
  };
}

function payments(ground: Ground) {
  const program = fileURLToPath(
    new URL("../mcp/payment-server.ts", import.meta.url),
  );
  const env = { PAYMENTS: ground.path("payments.txt") };
  const transport = {
    case: "stdio" as const,
    value: { command: process.execPath, args: [program], env },
  };
  return createMcp({
    servers: [create(McpServerSchema, { name: "payments", transport })],
  });
}

function edit(view: TaskView, modifiedArguments: JsonObject): Promise<void> {
  const { toolCallId = "" } = view.snapshot().questions[0] ?? {};
  return view.answer(toolCallId, "modify_arguments", soon(), {
    modifiedArguments,
  });
}

/**
 * A view of the same task after a restart of the server, once it asks about a
 * command. Earlier questions are in the log, too, and a view that reads it
 * shows each for a moment.
 */
async function reopened(
  client: DevtoolClient,
  before: TaskView,
  command: string,
): Promise<TaskView> {
  const view = createTaskView(client, { taskId: before.snapshot().task.id });
  const leave = new AbortController();
  const followed = view.follow(leave.signal);
  const asked = { questions: [{ inputParameters: { command } }] };
  await expect
    .poll(() => view.snapshot(), { timeout: 60_000 })
    .toMatchObject(asked);
  leave.abort();
  await followed;
  return view;
}
