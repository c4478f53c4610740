import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  FailureAction,
  StepRunSchema,
  WorkflowRunSchema,
  type WorkflowSchema,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { defineWorkflow } from "./check-workflow.ts";
import type { RunCalls, StepCall, StepQuestion } from "./run-calls.ts";
import { runWorkflow } from "./run-workflow.ts";

type Steps = MessageInitShape<typeof WorkflowSchema>["steps"];

/** What each try was told, in order. */
interface Played {
  readonly told: readonly string[];
  readonly asked: readonly string[];
  /** The answer of the run, or why it failed. */
  readonly answer: string;
}

/**
 * Plays steps. An agent fails where its message begins with "fail", and answers
 * with its message otherwise, at the time with which that ends: "@3".
 */
async function play(
  steps: Steps,
  kept: readonly string[] = [],
): Promise<Played> {
  const told: string[] = [];
  const asked: string[] = [];
  const calls: RunCalls = {
    step: async ({ path, message, undoes }: StepCall) => {
      told.push(`${undoes ? "undo " : ""}${path}: ${message}`);
      const error = message.startsWith("fail") ? "broken" : "";
      const result = error === "" ? { text: message } : undefined;
      const endMs = Number(/@(\d)$/.exec(message)?.[1] ?? 0);
      return { result, error, isFinal: true, endMs };
    },
    wait: async ({ text }: StepQuestion) => {
      asked.push(text);
      return true;
    },
    sleep: async () => undefined,
  };
  const run = create(WorkflowRunSchema, {
    workflow: defineWorkflow({ name: "flow", steps: steps ?? [] }),
    kept: kept.map((path) =>
      create(StepRunSchema, { path, result: { text: "kept" } }),
    ),
  });
  const answer = await runWorkflow(
    run,
    calls,
    new AbortController().signal,
  ).then(
    ({ text }) => `${text}`,
    (reason: Error) => reason.message,
  );
  return { told, asked, answer };
}

const agent = "x";

describe("runWorkflow", () => {
  it("undoes nothing where a step goes on behind a failure that would", async () => {
    const booked = { id: "book", agent, task: "book", undo: "cancel" };
    const inner = {
      id: "inner",
      agent,
      task: "fail",
      onFailure: FailureAction.COMPENSATE,
    };
    const group = {
      id: "group",
      steps: [inner],
      dependencies: ["book"],
      onFailure: FailureAction.CONTINUE,
    };
    const last = { id: "last", agent, task: "fail", dependencies: ["group"] };
    const stopped = await play([booked, group, last]);
    expect(stopped.told.filter((one) => one.startsWith("undo"))).toEqual([]);
    const compensated = await play([
      booked,
      { ...group, onFailure: FailureAction.STOP },
    ]);
    expect(compensated.told.at(-1)).toBe("undo book: cancel");
    const plain = { ...inner, onFailure: FailureAction.STOP };
    const { told } = await play([
      booked,
      { ...group, steps: [plain], onFailure: FailureAction.STOP },
    ]);
    expect(told.filter((one) => one.startsWith("undo"))).toEqual([]);
  });

  it("undoes the last one first, with the values of its round, and nothing of another run", async () => {
    const loop = {
      until: "{{steps.count.result.text}}",
      startsWith: "...",
      max: 5,
    };
    const { told } = await play(
      [
        { id: "before", agent, task: "before", undo: "cancel before" },
        {
          id: "loop",
          loop,
          dependencies: ["before"],
          steps: [
            {
              id: "count",
              agent,
              task: ".{{steps.count.result.text}}",
              inputs: {},
              loop: { until: "x", startsWith: "x", max: 1 },
              undo: "cancel {{steps.count.result.text}}",
            },
          ],
        },
        {
          id: "end",
          agent,
          task: "fail",
          dependencies: ["loop"],
          onFailure: FailureAction.COMPENSATE,
        },
      ],
      ["before"],
    );
    expect(told.filter((one) => one.startsWith("undo"))).toEqual([
      "undo loop/3/count/1: cancel ...",
      "undo loop/2/count/1: cancel ..",
      "undo loop/1/count/1: cancel .",
    ]);
  });

  it("undoes what ended last first, also where it began first", async () => {
    const { told } = await play([
      { id: "first", agent, task: "work @2", undo: "cancel" },
      { id: "second", agent, task: "work @1", undo: "cancel" },
      {
        id: "end",
        agent,
        task: "fail",
        dependencies: ["first", "second"],
        onFailure: FailureAction.COMPENSATE,
      },
    ]);
    expect(told.slice(-2)).toEqual([
      "undo first: cancel",
      "undo second: cancel",
    ]);
  });

  it("keeps nothing behind a step or a round that runs again", async () => {
    const first = { id: "first", agent, task: "first" };
    const next = { id: "next", agent, task: "next", dependencies: ["first"] };
    const { told } = await play([first, next], ["next"]);
    expect(told).toEqual(["first: first", "next: next"]);
    const loop = {
      until: "{{steps.l.result.text}}",
      startsWith: "...",
      max: 3,
    };
    const round = { id: "l", agent, task: ".{{steps.l.result.text}}", loop };
    const rounds = await play([round], ["l/2"]);
    expect(rounds.told).toEqual(["l/1: .", "l/2: ..", "l/3: ..."]);
  });

  it("gives a step in a group the results of the round before", async () => {
    const { told, answer } = await play([
      {
        id: "loop",
        loop: {
          until: "{{steps.group.result.text}}",
          startsWith: "...",
          max: 5,
        },
        steps: [
          {
            id: "group",
            steps: [
              { id: "first", agent, task: "{{steps.second.result.text}}." },
              {
                id: "second",
                agent,
                task: "{{steps.first.result.text}}",
                dependencies: ["first"],
              },
            ],
          },
        ],
      },
    ]);
    expect(answer).toBe("...");
    expect(told.map((one) => one.replace(/.*: /, ""))).toEqual(
      [".", "..", "..."].flatMap((one) => [one, one]),
    );
  });

  it("shows the inputs of a workflow to who approves it", async () => {
    const { asked } = await play([
      {
        id: "deploy",
        workflow: "other",
        task: "go",
        inputs: { target: "production" },
        approval: "Deploy?",
      },
    ]);
    expect(asked).toEqual([
      "Deploy?\n\nother gets:\ngo\n\ntarget:\nproduction",
    ]);
  });

  it("fails after 1,000 tries, whatever goes on behind failures", async () => {
    const until = { until: "{{input.none}}", startsWith: "x", max: 100 };
    const { told, answer } = await play([
      {
        id: "outer",
        loop: { ...until, until: "{{steps.inner.result.text}}" },
        steps: [
          {
            id: "inner",
            loop: { ...until, until: "{{steps.try.error}}" },
            onFailure: FailureAction.CONTINUE,
            steps: [
              {
                id: "try",
                agent,
                task: "fail",
                onFailure: FailureAction.CONTINUE,
              },
            ],
          },
        ],
      },
    ]);
    expect(told).toHaveLength(1000);
    expect(answer).toMatch(/^the run has had 1000 tries of steps/);
  });

  it("undoes all that it has done, though the tries are used up with that", async () => {
    const loop = { until: "{{steps.s0.error}}", startsWith: "x", max: 100 };
    const work = { agent, task: "work", undo: "cancel" };
    const { told, answer } = await play([
      {
        id: "many",
        loop,
        steps: [0, 1, 2, 3, 4, 5].map((index) => ({
          ...work,
          id: `s${index}`,
        })),
        onFailure: FailureAction.COMPENSATE,
      },
    ]);
    expect(told.filter((one) => one.startsWith("undo"))).toHaveLength(600);
    expect(answer).toMatch(/^step "many" failed: after 100 rounds[^;]*$/);
  });

  it("leaves it to the driver what a failure does with the tries behind it", async () => {
    // As after a restart: the log has the failure, and the other try at work.
    const canceled: string[] = [];
    const calls: RunCalls = {
      step: async ({ path }, signal) => {
        if (path !== "late") {
          return {
            result: path === "fails" ? undefined : { text: "" },
            error: path === "fails" ? "broken" : "",
            isFinal: true,
            endMs: 0,
          };
        }
        if (signal.aborted) canceled.push(path);
        throw signal.reason;
      },
      wait: async () => true,
      sleep: async () => undefined,
    };
    const workflow = defineWorkflow({
      name: "flow",
      steps: [
        { id: "fails", agent, task: "x" },
        { id: "early", agent, task: "x" },
        { id: "late", agent, task: "x", dependencies: ["early"] },
      ],
    });
    await expect(
      runWorkflow(
        create(WorkflowRunSchema, { workflow }),
        calls,
        new AbortController().signal,
      ),
    ).rejects.toThrow('step "fails" failed: broken');
    expect(canceled).toEqual(["late"]);
  });
});
