import { ApprovalMode, TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { APPROVAL_MODES } from "./approval-mode.ts";
import { approvalModeOption } from "./command-options.ts";
import { TASK_STATES } from "./task-states.ts";

describe("the choices of an option", () => {
  it("are all approval modes", () => {
    expect(approvalModeOption("").argChoices).toEqual([
      ...APPROVAL_MODES.keys(),
    ]);
    expect([...APPROVAL_MODES.keys()].sort()).toEqual(namesOf(ApprovalMode));
  });

  it("are all states of tasks", () => {
    expect([...TASK_STATES].sort()).toEqual(namesOf(TaskState));
  });
});

/**
 * The names of an enum's values as users type them, in order, without the
 * unspecified one.
 */
function namesOf(values: object): string[] {
  return Object.keys(values)
    .filter((name) => /^[A-Z]/.test(name) && name !== "UNSPECIFIED")
    .map((name) => name.toLowerCase().replaceAll("_", "-"))
    .sort();
}
