import { create } from "@bufbuild/protobuf";
import { type StepRun, StepRunSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { defineWorkflow } from "./check-workflow.ts";
import { keptSteps } from "./kept-steps.ts";

const loop = {
  until: "{{steps.review.result.text}}",
  startsWith: "OK",
  max: 3,
};
const work = { agent: "x", task: "go" };
const FLOW = defineWorkflow({
  name: "flow",
  steps: [
    { id: "a", ...work },
    { id: "b", ...work, dependencies: ["a"] },
    { id: "c", ...work, dependencies: ["b"] },
    { id: "side", ...work },
    {
      id: "draft",
      loop,
      dependencies: ["side"],
      steps: [
        { id: "write", ...work },
        { id: "review", ...work, dependencies: ["write"] },
      ],
    },
  ],
});

/** The try of a step: `path`, `path!` for a failed one, `-path` for an undo. */
function tryOf(text: string, answer = text): StepRun {
  const path = text.replace(/^-|!$/g, "");
  return create(StepRunSchema, {
    path,
    undoes: text.startsWith("-"),
    ...(text.endsWith("!") ? { error: "no" } : { result: { text: answer } }),
  });
}

function kept(
  before: readonly string[],
  own: readonly string[],
  fromStep = "",
): string[] {
  return keptSteps(
    FLOW,
    before.map((text) => tryOf(text, "old")),
    own.map((text) => tryOf(text, "new")),
    fromStep,
  ).map(({ path, result }) => `${path} ${result?.text}`);
}

describe("keptSteps", () => {
  it("keeps what succeeded and was not undone", () => {
    expect(kept([], ["a", "b!", "b", "-b", "side"])).toEqual([
      "a new",
      "side new",
    ]);
  });

  it("has one result of a path, the newer one", () => {
    expect(kept(["a", "side"], ["a"])).toEqual(["side old", "a new"]);
    expect(kept(["a"], ["a!"])).toEqual([]);
  });

  it("drops what was kept behind a step that ran again", () => {
    expect(kept(["a", "b", "c", "side"], ["b"])).toEqual([
      "a old",
      "side old",
      "b new",
    ]);
    expect(kept(["a", "b", "c"], ["a!"])).toEqual([]);
  });

  it("drops all that depends on the step to begin with", () => {
    expect(kept(["a"], ["b", "c", "side"], "b")).toEqual(["a old", "side new"]);
  });

  it("reads each step once, however many ways lead to it", () => {
    let reads = 0;
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    const [first] = FLOW.steps;
    if (!first) throw new Error("there is no step");
    const steps = [...names, "side"].map((id, index) => ({
      ...first,
      id,
      get dependencies(): string[] {
        reads++;
        return id === "side" ? [] : names.slice(0, index);
      },
    }));
    const last = tryOf("s19", "old");
    const flow = { steps };
    expect(keptSteps(flow, [last], [tryOf("side")], "")).toContain(last);
    expect(reads).toBeLessThan(100);
  });

  it("drops later rounds of a loop, and what is behind in the same one", () => {
    const rounds = [
      "draft/1/write",
      "draft/1/review",
      "draft/2/write",
      "draft/2/review",
      "draft/3/write",
    ];
    expect(kept([], rounds, "draft/2/review")).toEqual([
      "draft/1/write new",
      "draft/1/review new",
      "draft/2/write new",
    ]);
    expect(kept([], rounds, "draft/2")).toHaveLength(2);
    expect(kept([], [...rounds, "a"], "side")).toEqual(["a new"]);
  });
});
