import { once } from "node:events";
import { createServer } from "node:http";
import { ApprovalMode, TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { APPROVAL_MODES } from "./approval-mode.ts";
import { approvalModeOption } from "./command-options.ts";
import { TASK_STATES } from "./task-states.ts";
import { runCommand } from "./testing/run-command.ts";

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

describe("an option that names a directory, a file or a task", () => {
  it.each([
    ["serve", "--workspace"],
    ["serve", "--config"],
    ["serve", "--token-file"],
    ["run", "--workspace"],
    ["run", "--task"],
    ["chat", "--task"],
    ["tasks", "--data"],
    ["trust list", "--data"],
    ["audit verify", "--log"],
  ])("is refused when it is empty: devtool %s %s", async (command, flag) => {
    expect(await runCommand([...command.split(" "), flag, ""])).toEqual({
      code: 2,
      out: "",
      err: `devtool: ${flag} is empty: name something, or leave it out\n`,
    });
  });
});

describe("devtool push listen", () => {
  it("says that its port is in use", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const address = taken.address();
    const port = typeof address === "object" ? String(address?.port) : "";
    expect(await runCommand(["push", "listen", "--port", port])).toMatchObject({
      code: 1,
      err: `devtool: port ${port} of 127.0.0.1 is in use: choose another with --port, or 0 for a free one\n`,
    });
    taken.close();
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
