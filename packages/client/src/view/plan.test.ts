import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { TaskEventSchema, TaskSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { planOf, reducePlan } from "./plan.ts";

type Payload = NonNullable<MessageInitShape<typeof TaskEventSchema>["payload"]>;

const DONE = { text: "read", status: "completed" };
const RUNNING = { text: "write", status: "in_progress" };
const LATER = { text: "test", status: "pending" };

describe("the plan of a task", () => {
  it("is that of the latest call of update_plan", () => {
    const plan = [
      { step: "read", status: "completed" },
      { step: "write", status: "in_progress" },
      { step: "test", status: "pending" },
    ];
    const call = {
      case: "toolCall",
      value: { toolName: "update_plan", inputParameters: { plan } },
    } as const;
    expect(planAfter(call)).toEqual([DONE, RUNNING, LATER]);
  });

  it("is that of an artifact of an agent that speaks ACP", () => {
    const entries = [
      { content: "read", status: "completed", priority: "high" },
      { content: "test", status: "pending", priority: "low" },
    ];
    expect(planAfter(artifact({ case: "data", value: { entries } }))).toEqual([
      DONE,
      LATER,
    ]);
  });

  it("is that of an artifact of Codex", () => {
    const plan = [{ step: "write", status: "inProgress" }];
    expect(
      planAfter(artifact({ case: "data", value: { explanation: null, plan } })),
    ).toEqual([RUNNING]);
  });

  it.each<[string, Payload]>([
    [
      "another tool",
      {
        case: "toolCall",
        value: { toolName: "read_file", inputParameters: { plan: [] } },
      },
    ],
    [
      "a call without a plan",
      { case: "toolCall", value: { toolName: "update_plan" } },
    ],
    ["a plan in prose", artifact({ case: "text", value: "1. read" })],
    ["text", { case: "text", value: { text: "plan" } }],
  ])("is not changed by %s", (_, payload) => {
    const before = [{ text: "before", status: "pending" as const }];
    expect(reducePlan(before, create(TaskEventSchema, { payload }))).toBe(
      before,
    );
  });

  it("is in the task as well: that of its latest call, or of its artifact", () => {
    const call = (status: string) => ({
      content: {
        case: "toolCall" as const,
        value: {
          toolName: "update_plan",
          inputParameters: { plan: [{ step: "read", status }] },
        },
      },
    });
    const history = ["pending", "completed"].map((status) => ({
      parts: [call(status), { content: { case: "text" as const, value: "x" } }],
    }));
    expect(planOf(create(TaskSchema, { history }))).toEqual([DONE]);
    const data = { plan: [{ step: "write", status: "inProgress" }] };
    const parts = [{ content: { case: "data" as const, value: data } }];
    const artifacts = [{ name: "Plan", parts }, { name: "Other" }];
    expect(planOf(create(TaskSchema, { artifacts }))).toEqual([RUNNING]);
    expect(planOf(create(TaskSchema))).toEqual([]);
  });

  it("leaves out what is not a step", () => {
    expect(
      planAfter(
        artifact({
          case: "data",
          value: { plan: ["read", { status: "pending" }, null] },
        }),
      ),
    ).toEqual([]);
  });
});

function planAfter(payload: Payload): unknown {
  return reducePlan([], create(TaskEventSchema, { payload }));
}

function artifact(
  content: { case: "data"; value: object } | { case: "text"; value: string },
): Payload {
  const part =
    content.case === "text"
      ? { content }
      : { content: { case: "data" as const, value: { ...content.value } } };
  return {
    case: "artifact",
    value: { artifact: { artifactId: "plan", name: "Plan", parts: [part] } },
  };
}
