import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import {
  type CodingServerOptions,
  defineTool,
  type Model,
  type ModelRequest,
  serveCodingAgent,
  stepStart,
} from "@devtool/coding-agent";
import {
  OPTION_PROCEED_ONCE,
  Role,
  type Task,
  TaskState,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { agentText } from "../tasks.ts";

/** A tool that counts how often it ran, after asking. */
function countingTool() {
  let count = 0;
  return defineTool({
    name: "count",
    description: "Counts.",
    parameters: { type: "object", properties: {} },
    ask: () => "Count on?",
    run: () => `${++count}`,
  });
}

function modelThat(
  generate: (request: ModelRequest) => ReturnType<Model["generate"]>,
): Model {
  return { name: "own", generate };
}

const COUNTS = {
  case: "toolCall",
  value: { name: "count", args: {} },
} as const;

describe("a third-party model in the coding agent", () => {
  it("calls a third-party tool, which asks, and whose result is made from the user's answer", async () => {
    const model = modelThat(async function* ({ history }) {
      const { message, results } = stepStart(history);
      expect(history.at(-1)?.role).toBe(Role.USER);
      if (message) return yield COUNTS;
      const [result] = results;
      const output =
        result?.result.case === "output"
          ? result.result.value.result.value
          : "";
      yield { case: "text", value: `counted ${output}` };
    });
    const task = await approveAll({ model, tools: [countingTool()] });
    expect([task.state, task.history.flatMap(toolCallsOf).length]).toEqual([
      TaskState.COMPLETED,
      1,
    ]);
    expect(agentText(task)).toBe("counted 1");
  });

  it("is told when it begins again after each answer, and stopped at the step that its operator sets", async () => {
    const model = modelThat(async function* () {
      yield COUNTS;
    });
    const told =
      "the model calls count in the same way again and again: tell it what to do differently";
    const same = defineTool({
      ...TOOL,
      ask: () => "Count?",
      run: () => "always this",
    });
    for (const [loopLimits, runs] of [
      [{}, 4],
      [{ maxSameSteps: 3 }, 2],
    ] as const) {
      const task = await approveAll({ model, tools: [same], loopLimits });
      // It was told twice, each time in place of a call.
      const ran = (count: number): string[] => Array(count).fill("SUCCEEDED");
      expect([
        task.state,
        task.error,
        task.history
          .flatMap(toolCallsOf)
          .map(({ status }) => ToolCallStatus[status]),
      ]).toEqual([
        TaskState.FAILED,
        told,
        [...ran(runs), "FAILED", ...ran(runs), "FAILED", ...ran(runs)],
      ]);
    }
  });

  it("has at most as many steps as its operator sets", async () => {
    const model = modelThat(async function* () {
      yield COUNTS;
    });
    const { error } = await approveAll({
      model,
      tools: [countingTool()],
      maxSteps: 2,
    });
    expect(error).toBe("the turn took 2 steps: limit is 2");
  });

  it("sees the built-in tools that its operator picked, and the operator's own in place of one of them", async () => {
    const seen: string[] = [];
    const model = modelThat(async function* ({ tools }) {
      seen.push(
        ...tools.map(({ name, description }) => `${name}: ${description}`),
      );
      yield { case: "text", value: "seen" };
    });
    const glob = defineTool({
      ...TOOL,
      name: "glob",
      description: "Ours.",
      run: () => "",
    });
    await approveAll({
      model,
      tools: [glob],
      builtinTools: ["read_file", "glob"],
    });
    expect(seen).toEqual([
      expect.stringContaining("read_file: "),
      "glob: Ours.",
    ]);
  });

  it.each([
    [
      { tools: [defineTool({ ...toolNamed("a-b"), run: () => "" })] },
      'tools "a-b" is not a name',
    ],
    [
      { tools: [countingTool(), countingTool()] },
      'tools "count" is used twice',
    ],
    [
      { builtinTools: ["shell"] },
      'builtin_tools "shell" does not exist: choose read_file',
    ],
  ])(
    "is not served with tools that it could not call: %#",
    async (options, problem) => {
      await expect(serveCodingAgent(options)).rejects.toThrow(problem);
    },
  );
});

const TOOL = toolNamed("count");

function toolNamed(name: string) {
  return {
    name,
    description: "Counts.",
    parameters: { type: "object", properties: {} },
  };
}

/**
 * Sends a message to a server with these options, and says yes to all that it
 * asks.
 */
async function approveAll(options: CodingServerOptions): Promise<Task> {
  await using server = await serveCodingAgent({
    workspace: process.cwd(),
    ...options,
  });
  const { tasks } = clientOf(server);
  let { task } = await tasks.sendMessage({ message: textMessage("m", "go") });
  while (task && pendingToolCalls(task).length > 0) {
    const parts = pendingToolCalls(task).map((call) =>
      confirmationPart(call, OPTION_PROCEED_ONCE),
    );
    await tasks.sendMessage({
      message: { ...textMessage(crypto.randomUUID(), ""), parts },
      taskId: task.id,
    });
    ({ task } = await tasks.getTask({ taskId: task.id }));
  }
  if (!task) throw new Error("there is no task");
  return task;
}
