import { describe, expect, it } from "vitest";
import { readWorkflow } from "./read-workflow.ts";

const STEP = "id: a, agent: x, task: t";

describe("readWorkflow", () => {
  it.each([
    ["", "it has no fields"],
    ["[]", "it has no fields"],
    [
      "__proto__: { steps: 1 }",
      "__proto__ is unknown: the fields here are name,",
    ],
    [
      `steps: [{ ${STEP}, __proto__: { retries: 1 } }]`,
      "steps[0].__proto__ is unknown: the fields here are id,",
    ],
    ["steps: 5", "steps must be a list of objects, got 5"],
    ["steps: [null]", "steps[0] must be an object, got null"],
    [
      `concurrency: -1\nsteps: [{ ${STEP} }]`,
      "workflow: concurrency -1 is out of range: write a number from 1 to 16",
    ],
    [
      "concurrency: 99999999999",
      "concurrency must be an integer, got 99999999999",
    ],
    [
      `steps: [{ ${STEP}, timeout: -0.5s }]`,
      'workflow: step "a" has a timeout of -0.5 s: write a time above zero, such as "30s"',
    ],
    [
      `steps: [{ ${STEP}, on_failure: constructor }]`,
      'on_failure "constructor" is unknown: choose stop, continue, compensate',
    ],
    [
      "steps: [{ id: а, agent: x, task: t }]",
      'workflow: step id "а" is not 1 to 50 letters, digits, - and _',
    ],
    [
      "&x\nsteps: [*x]",
      "it has an alias inside of its own anchor: write it out",
    ],
    ["name: !run x", "Unresolved tag: !run at line 1, column 7"],
    [
      "a: &a [1]\nb: [".concat("*a,".repeat(2000), "]"),
      "Excessive alias count",
    ],
  ])("refuses %j, and names what is wrong", (text, problem) => {
    expect(() => readWorkflow(text, "flow.yaml")).toThrow(
      `workflow file "flow.yaml" cannot be used: ${problem}`,
    );
  });

  it("quotes no more than the beginning of a long line", () => {
    const text = `a = ${"[".repeat(20_000)}`;
    let message = "";
    try {
      readWorkflow(text, "flow.toml");
    } catch (reason) {
      message = String(reason);
    }
    expect(message).toContain('workflow file "flow.toml" cannot be used');
    expect(message.length).toBeLessThan(1200);
  });
});
