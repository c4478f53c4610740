import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ToolEvent } from "../tool.ts";
import { Workspace } from "../workspace.ts";
import { runShellCommandTool, type ShellOptions } from "./run-shell-command.ts";

const OPTIONS: ShellOptions = {
  environment: { PATH: process.env.PATH ?? "", SECRETLESS: "yes" },
  timeoutMs: 20_000,
  maxOutputBytes: 1000,
};

describe("run_shell_command", () => {
  let root: string;
  let workspace: Workspace;
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "devtool-shell-")));
    workspace = new Workspace(root);
  });
  afterEach(() => {
    workspace[Symbol.dispose]();
    rmSync(root, { recursive: true, force: true });
  });

  it("asks with the exact command and where it runs (TOOL-3)", async () => {
    const invocation = await prepare("echo hi");
    expect(invocation.confirmation).toMatchObject({
      case: "executeDetails",
      value: { command: "echo hi", workingDirectory: root },
    });
    await expect(prepare(" ")).rejects.toThrow("is empty");
    await expect(prepare("ls", { directory: "../.." })).rejects.toThrow("is outside workspace");
  });

  it("gives both outputs, in the workspace, with the environment it was given and no other", async () => {
    process.env.DEVTOOL_CANARY = "leaked";
    const [last] = (await run("pwd; echo err >&2; echo [$SECRETLESS$DEVTOOL_CANARY]")).slice(-1);
    // The two come through pipes of their own, so their order is not told.
    expect(JSON.stringify(last)).toContain(root);
    expect(JSON.stringify(last)).toContain("err\\n");
    expect(JSON.stringify(last)).toContain("[yes]");
    delete process.env.DEVTOOL_CANARY;
  });

  it("fails with the exit code (TOOL-8)", async () => {
    expect((await run("echo said; exit 7")).at(-1)).toMatchObject({
      value: {
        case: "error",
        value: { type: "execution_failed", statusCode: 7, message: expect.stringContaining("said") },
      },
    });
  });

  it("ends a command that takes too long", async () => {
    const events = await run("echo begun; sleep 60", { ...OPTIONS, timeoutMs: 200 });
    expect(events.at(-1)).toMatchObject({
      value: { case: "error", value: { type: "timeout", message: expect.stringContaining("begun") } },
    });
  });

  it("leaves no process behind when it is canceled, not even a grandchild that ignores SIGTERM", {
    timeout: 15_000,
  }, async () => {
    const stop = new AbortController();
    const running = run("(trap '' TERM; sleep 4242) & wait", OPTIONS, stop.signal).catch(() => "ended");
    while (processes("sleep 4242") === 0) await delay(20);
    stop.abort();
    expect(await running).toBe("ended");
    expect(processes("sleep 4242")).toBe(0);
  });

  it("leaves no process behind when it ends by itself", async () => {
    await run("sleep 4343 & echo done");
    expect(processes("sleep 4343")).toBe(0);
  });

  it("shows its output while it runs, and of a flood no more than a few times what it produced (TOOL-7)", async () => {
    const events = await run("echo first; sleep 0.3; echo second; for i in $(seq 20000); do echo line $i; done");
    const live = events.flatMap((event) => (event.case === "live" ? [event.value] : []));
    expect(live[0]).toBe("first\n");
    const produced = 20_000 * 10;
    expect(live.join("").length).toBeLessThan(4 * produced + 2000);
    expect(live.at(-1)).toMatch(/^\[first \d+ of \d+ characters cut\]\n/);
    expect(events.at(-1)).toMatchObject({
      value: { value: { result: { value: expect.stringContaining("line 20000\n") } } },
    });
  });

  it("shows what it wrote soon after, also when it is silent then (TOOL-7)", async () => {
    const events = await run("echo first; sleep 0.02; echo second; sleep 1");
    expect(events.filter((event) => event.case === "live").map(({ value }) => value)).toContain("first\nsecond\n");
  });

  function prepare(command: string, more: { readonly directory?: string } = {}, options = OPTIONS) {
    return runShellCommandTool(workspace, options).prepare({ command, ...more }, AbortSignal.timeout(20_000));
  }

  async function run(command: string, options = OPTIONS, signal = AbortSignal.timeout(20_000)): Promise<ToolEvent[]> {
    const invocation = await prepare(command, {}, options);
    const events: ToolEvent[] = [];
    for await (const event of invocation.execute(signal)) events.push(event);
    return events;
  }
});

function processes(command: string): number {
  const all = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" });
  return all.split("\n").filter((line) => line === command).length;
}
