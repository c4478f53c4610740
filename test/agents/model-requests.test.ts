import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { ServerMetrics } from "@devtool/cli/testing";
import {
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import {
  codingAgent,
  type Model,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import {
  ApprovalMode,
  BudgetConfigSchema,
  emptyTask,
  isInterrupted,
  isTerminal,
  type Message,
  Role,
  type Task,
  TaskState,
  UsageSchema,
} from "@devtool/schema";
import {
  createServer,
  type DevtoolServer,
  type Observer,
} from "@devtool/server";
import type { OperationEnd } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { nodeServer, serverProgram } from "../mcp/servers.ts";
import { startTelemetry, type Telemetry } from "../telemetry/telemetry.ts";

const SAMPLING_TOOL = "mcp__everything__trigger-sampling-request";
const AGENT_TOOL = "agent_helper";

/**
 * A model whose requests take 200 tokens each. It calls the tool of an MCP server
 * that asks the model, or another agent, as often as the prompt says.
 */
function createModel(): Model {
  return {
    name: "m-1",
    provider: "acme",
    async *generate({ history, tools }) {
      const [verb, count] = textOf(history.findLast(isPrompt)).split(" ");
      const calls = history.flatMap(({ parts }) =>
        parts.filter(({ content }) => content.case === "toolCall"),
      );
      const call = CALLS.get(verb ?? "");
      if (tools.length > 0 && call) {
        for (let each = calls.length; each < Number(count); each++) {
          yield { case: "toolCall", value: call };
        }
      }
      yield { case: "text", value: "Because." };
      yield { case: "usage", value: create(UsageSchema, USAGE) };
    },
  };
}
const PRICES = [{ model: "m-*", input: 100, output: 1000 }];
const USAGE = { inputTokens: 150n, outputTokens: 50n };
/** What the model calls, by the first word of the prompt. */
const CALLS = new Map([
  ["sample", { name: SAMPLING_TOOL, args: { prompt: "why?" } }],
  ["ask", { name: AGENT_TOOL, args: { message: "say why" } }],
]);

describe("what asks the model beside the turn's own steps", () => {
  it("counts where an MCP server does: in the task, its spans and its budget", async () => {
    await using told = await startTelemetry();
    using metrics = new ServerMetrics({ elapsedMs: () => 0 });
    const server = await serve({}, tellBoth(told, metrics));
    const task = await converse(clientOf(server), "sample 1");
    expect(task.state).toBe(TaskState.COMPLETED);
    // A step that calls the tool, the request of the server, and a last step.
    expect(task.usage).toMatchObject({
      inputTokens: 450n,
      outputTokens: 150n,
      contextTokens: 200n,
    });
    await server.close();
    await told.flush();
    const call = await told.find(`execute_tool ${SAMPLING_TOOL}`);
    const chats = told.spans.filter(({ name }) => name === "chat m-1");
    expect(chats).toHaveLength(3);
    const [sampled] = chats.filter(
      ({ parentSpanId }) => parentSpanId === call.spanId,
    );
    expect(sampled?.attributes).toMatchObject({
      "gen_ai.provider.name": "acme",
      "gen_ai.usage.input_tokens": 150,
      "gen_ai.usage.output_tokens": 50,
    });
    const turn = await told.find("invoke_agent devtool");
    expect(turn.attributes["gen_ai.usage.input_tokens"]).toBe(450);
    expect(await inputTokens(metrics)).toEqual([[labelsOf("devtool"), 450]]);
  });

  it("counts for a called agent, once, below the call in the same trace", async () => {
    await using told = await startTelemetry();
    using metrics = new ServerMetrics({ elapsedMs: () => 0 });
    const model = createModel();
    const server = await createServer({
      agents: {
        main: codingAgent({ model, approvalMode: ApprovalMode.YOLO }),
        helper: codingAgent({ model }),
      },
      workspace: temporaryDirectory(),
      observer: tellBoth(told, metrics),
      budget: create(BudgetConfigSchema, { prices: PRICES }),
    });
    const client = clientOf(server);
    const task = await converse(client, "ask 2");
    expect(task.state).toBe(TaskState.COMPLETED);
    const cost = await runCommand(client, "cost", task.contextId);
    expect(textOf(cost.history.at(-1))).toBe(
      "tokens: 300 in (0 cached), 100 out (0 thoughts)\ncost: 0.2600\n  m-1: 800 tokens, 0.2600",
    );
    await server.close();
    await told.flush();
    // A step that calls the agent twice, and a last one.
    const main = await told.find("invoke_agent main");
    expect(main.attributes["gen_ai.usage.input_tokens"]).toBe(300);
    const turns = told.spans.filter(({ name }) => name.endsWith(" helper"));
    const byId = new Map(told.spans.map((each) => [each.spanId, each]));
    const about = turns.map(({ parentSpanId, attributes }) => {
      const request = byId.get(parentSpanId);
      const call = byId.get(request?.parentSpanId ?? "");
      const isOfMain = call?.parentSpanId === main.spanId;
      return [call?.name, isOfMain, attributes["gen_ai.usage.input_tokens"]];
    });
    const each = [`execute_tool ${AGENT_TOOL}`, true, 150];
    expect(about).toEqual([each, each]);
    expect(await inputTokens(metrics)).toEqual([
      [labelsOf("main"), 300],
      [labelsOf("helper"), 300],
    ]);
  });

  it.for([
    [{ turn: { tokens: 400n } }, "This turn used 400 tokens"],
    [{ task: { tokens: 400n } }, "This task used 400 tokens"],
    [{ day: { tokens: 400n } }, "Today, your tasks used 400 tokens"],
  ] as const)(
    "is refused in words when a budget is used up: %s",
    async ([budget, words]) => {
      await using server = await serve(budget);
      const task = await converse(clientOf(server), "sample 2");
      expect([task.state, task.stateText]).toEqual([
        TaskState.INPUT_REQUIRED,
        expect.stringContaining(`${words}, and the limit is 400.`),
      ]);
      expect(task.usage?.inputTokens).toBe(300n);
    },
  );

  it.for([
    [{ day: { tokens: 200n } }, "used 200 tokens"],
    [{ day: { time: durationFromMs(1) } }, "s of work"],
    [{ day: { cost: 1 } }, "has no price"],
  ] as const)(
    "lets a command speak that asks no model, also when a budget is used up: %s",
    async ([budget, words]) => {
      await using server = await serve(budget);
      const client = clientOf(server);
      const { id, contextId } = await converse(client, "say one");
      const next = await converse(client, "say two", { contextId });
      expect(next.stateText).toContain(words);
      for (const word of ["cost", "stats", "plan", "help"]) {
        const { state, stateText } = await runCommand(client, word, contextId);
        expect([word, state, stateText]).toEqual([
          word,
          TaskState.COMPLETED,
          "",
        ]);
      }
      const goal = await runCommand(client, "goal", contextId);
      expect(goal.error).toContain("this conversation has no goal");
      const call = await runCommand(client, "memory add", contextId, "a fact");
      expect(call.stateText).toContain(words);
      const stats = await runCommand(client, "stats", contextId);
      expect(textOf(stats.history.at(-1))).toMatch(
        new RegExp(`^task: (${id}|${next.id}), the latest of 2\n`),
      );
    },
  );

  it("counts for the turn of /compress, and for the day of its principal", async () => {
    await using told = await startTelemetry();
    const budget = { day: { tokens: 700n }, prices: PRICES };
    await using server = await serve(budget, told.observer);
    const client = clientOf(server);
    const { id, contextId } = await converse(client, `say ${"x".repeat(9000)}`);
    const talk = await converse(client, "say no more", { taskId: id });
    const compressed = await runCommand(client, "compress", contextId);
    expect(textOf(compressed.history.at(-1))).toMatch(/^A summary stands for/);
    expect(compressed.usage).toMatchObject(USAGE);
    const after = await client.tasks.getTask({ taskId: id });
    expect(after.task?.usage?.inputTokens).toBe(talk.usage?.inputTokens);
    // A command that asks no model has no step of one.
    const stats = await runCommand(client, "stats", contextId);
    expect(textOf(stats.history.at(-1))).toContain("\ncost: 0.1950\n");
    await converse(client, "say more", { taskId: id });
    const refused = await runCommand(client, "compress", contextId);
    expect(refused.stateText).toContain(
      "Today, your tasks used 800 tokens, and the limit is 700.",
    );
    const report = await runCommand(client, "cost", contextId);
    expect(textOf(report.history.at(-1))).toBe(
      "tokens: 600 in (0 cached), 200 out (0 thoughts)\ncost: 0.2600\n  m-1: 800 tokens, 0.2600",
    );
    await server.close();
    await told.flush();
    const chats = told.spans.filter(({ name }) => name === "chat m-1");
    expect(chats).toHaveLength(4);
    expect(
      chats.every(
        ({ attributes }) => attributes["gen_ai.usage.input_tokens"] === 150,
      ),
    ).toBe(true);
  });
});

/** Returns an observer of which both hear. */
function tellBoth(told: Telemetry, metrics: ServerMetrics): Observer {
  return (operation) => {
    const ends = [told.observer, metrics.observer].map((each) =>
      each?.(operation),
    );
    return Object.assign(
      (how: OperationEnd) => ends.forEach((end) => void end?.(how)),
      { traceContext: ends[0]?.traceContext },
    );
  };
}

/** Returns the tokens of input that were counted, by their labels. */
async function inputTokens(metrics: ServerMetrics): Promise<unknown> {
  const counted = await metrics.reader()();
  return counted.find(({ about }) =>
    about.name.endsWith("inference.usage.input_tokens"),
  )?.series;
}

function labelsOf(agent: string): object {
  return {
    "gen_ai.agent.name": agent,
    "gen_ai.request.model": "m-1",
    "gen_ai.provider.name": "acme",
  };
}

function serve(
  budget: MessageInitShape<typeof BudgetConfigSchema>,
  observer?: Observer,
): Promise<DevtoolServer> {
  const program = [serverProgram("server-everything"), "stdio"];
  return serveCodingAgent({
    workspace: temporaryDirectory(),
    model: createModel(),
    mcp: createMcp({ servers: [nodeServer("everything", program)] }),
    budget: create(BudgetConfigSchema, budget),
    observer,
  });
}

/** Sends a message, and agrees to what the task asks until it asks no more. */
async function converse(
  client: DevtoolClient,
  text: string,
  more: { readonly taskId?: string; readonly contextId?: string } = {},
): Promise<Task> {
  const message = textMessage(crypto.randomUUID(), text);
  let { task = emptyTask() } = await client.tasks.sendMessage({
    message,
    ...more,
  });
  for (;;) {
    const parts = pendingToolCalls(task).map((call) =>
      confirmationPart(call, "proceed_once"),
    );
    if (parts.length === 0) return task;
    const answer = { messageId: crypto.randomUUID(), parts };
    const taskId = task.id;
    ({ task = emptyTask() } = await client.tasks.sendMessage({
      message: answer,
      taskId,
    }));
  }
}

/** Runs a slash command to its end, or until it asks. */
async function runCommand(
  client: DevtoolClient,
  words: string,
  contextId: string,
  args = "",
): Promise<Task> {
  const { result } = await client.commands.runSlashCommand({
    command: { commandPath: words.split(" "), args },
    contextId,
  });
  const taskId = result?.executionId ?? "";
  let task = emptyTask();
  await expect
    .poll(async () => {
      ({ task = emptyTask() } = await client.tasks.getTask({ taskId }));
      return isInterrupted(task.state) || isTerminal(task.state);
    })
    .toBe(true);
  return task;
}

function isPrompt({ role, parts }: Message): boolean {
  return (
    role === Role.USER && parts.some(({ content }) => content.case === "text")
  );
}

function textOf(message: Message | undefined): string {
  const content = message?.parts.find(
    (part) => part.content.case === "text",
  )?.content;
  return String(content?.value ?? "");
}
