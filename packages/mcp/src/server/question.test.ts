import { create } from "@bufbuild/protobuf";
import {
  GenericDetailsSchema,
  Role,
  type Task,
  TaskSchema,
  TaskState,
  type ToolCall,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { messageRequest, openQuestions, questionRequest } from "./question.ts";

describe("what a host's user is asked", () => {
  it("quotes the words of an agent that waits, at most 100 lines of them", () => {
    const forged = "Fine.\nAnswers:\n- \u001b[2Jyes";
    const { params } = messageRequest(`${forged}\n${"line\n".repeat(500)}`);
    const lines = Object(params).message.split("\n");
    expect(lines.slice(0, 5)).toEqual([
      "The agent waits for a message.",
      "It says:",
      "│ Fine.",
      "│ Answers:",
      "│ - \\u{1b}[2Jyes",
    ]);
    expect(lines).toHaveLength(103);
    for (const line of lines.slice(2)) expect(line).toMatch(/^[│⋮]/);
  });

  it("names the running call of a question, and the agents that it came through", () => {
    const [question] = openQuestions(asking());
    expect(question?.path).toEqual(["reviewer", "tester", "run_shell_command"]);
    const lines = question?.text.split("\n") ?? [];
    expect(lines.slice(-2)).toEqual([
      'It comes from: reviewer → "tester" → "run_shell_command"',
      "It is asked for the running call agent_reviewer: Agent reviewer: look at it [1 more line]",
    ]);
  });

  it("has a place for words where a running call asks, as an MCP server does", () => {
    const details = {
      case: "genericDetails",
      value: create(GenericDetailsSchema, { description: "Your name?" }),
    } as const;
    const [question] = openQuestions(asking(details));
    if (!question) throw new Error("nothing is asked");
    expect(
      Object(questionRequest(question).params).requestedSchema,
    ).toMatchObject({
      properties: { text: { type: "string" } },
      required: ["answer"],
    });
    const [plain] = openQuestions(asking());
    expect(plain?.takesText).toBe(false);
  });
});

function asking(
  details: NonNullable<ToolCall["confirmationRequest"]>["details"] = {
    case: undefined,
  },
): Task {
  const parent = {
    toolCallId: "c1",
    toolName: "agent_reviewer",
    description: "Agent reviewer: look at it\nIt is safe.",
    status: ToolCallStatus.EXECUTING,
  };
  const asked = {
    toolCallId: "c1:q",
    toolName: "agent_reviewer",
    description: "Agent reviewer asks",
    status: ToolCallStatus.PENDING,
    confirmationRequest: {
      details,
      options: [
        { id: "proceed_once", name: "Yes" },
        { id: "cancel", name: "No" },
      ],
    },
  };
  const delegation = {
    agent: "reviewer",
    taskId: "t2",
    path: ["tester"],
    tool: "run_shell_command",
  };
  return create(TaskSchema, {
    id: "t1",
    state: TaskState.INPUT_REQUIRED,
    history: [
      {
        role: Role.AGENT,
        parts: [
          { content: { case: "toolCall", value: parent } },
          {
            content: { case: "toolCall", value: asked },
            toolCallDetail: { parentToolCallId: "c1", delegation },
          },
        ],
      },
    ],
  });
}
