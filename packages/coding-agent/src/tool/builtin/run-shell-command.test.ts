import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { countProcesses } from "../../../test/count-processes.ts";
import type { ToolEvent } from "../tool.ts";
import { Workspace } from "../workspace.ts";
import { runShellCommandTool, type ShellOptions } from "./run-shell-command.ts";

const OPTIONS: ShellOptions = {
  environment: { PATH: process.env.PATH ?? "", SECRETLESS: "yes" },
  timeoutMs: 120_000,
  maxOutputLength: 1000,
};

/** Unique to this test run, because others may run at the same time. */
const SLEEP = `sleep ${process.pid}4.2`;

describe("run_shell_command", () => {
  let root: string;
  let workspace: Workspace;
  beforeEach(() => {
    root = temporaryDirectory();
    workspace = new Workspace(root);
  });
  afterEach(() => workspace[Symbol.dispose]());

  it("asks with the exact command and its directory (TOOL-3)", async () => {
    const invocation = await prepare("echo hi");
    expect(invocation.confirmation).toMatchObject({
      case: "executeDetails",
      value: { command: "echo hi", workingDirectory: root },
    });
    await expect(prepare(" ")).rejects.toThrow("is empty");
    await expect(prepare("ls", { directory: "../.." })).rejects.toThrow(
      "is outside workspace",
    );
  });

  it("returns both outputs, runs in the workspace, and has only the given environment", async () => {
    process.env.DEVTOOL_CANARY = "leaked";
    const [last] = (
      await run("pwd; echo err >&2; echo [$SECRETLESS$DEVTOOL_CANARY]")
    ).slice(-1);
    // The two outputs come through separate pipes, so their order is unknown.
    expect(JSON.stringify(last)).toContain(root);
    expect(JSON.stringify(last)).toContain("err\\n");
    expect(JSON.stringify(last)).toContain("[yes]");
    delete process.env.DEVTOOL_CANARY;
  });

  it("loses no output of a command that ended before its output was read", async () => {
    const { execute } = await prepare("echo said");
    const events: ToolEvent[] = [];
    for await (const event of execute(AbortSignal.timeout(60_000))) {
      events.push(event);
      if (event.case === "process") await hasEnded(Number(event.value.pid));
    }
    expect(JSON.stringify(events.at(-1))).toContain("said");
  });

  it("fails with the exit code (TOOL-8)", async () => {
    expect((await run("echo said; exit 7")).at(-1)).toMatchObject({
      value: {
        case: "error",
        value: {
          type: "execution_failed",
          statusCode: 7,
          message: expect.stringContaining("said"),
        },
      },
    });
  });

  it("ends a command that takes too long", async () => {
    const limit = new AbortController();
    const clock = { now: () => 0, timeout: () => limit.signal };
    const events = await run(
      "echo begun; sleep 60",
      { ...OPTIONS, timeoutMs: 200, clock },
      () => limit.abort(),
    );
    expect(events.at(-1)).toMatchObject({
      value: {
        case: "error",
        value: {
          type: "timeout",
          message: expect.stringMatching(/longer than 200 ms.*\nbegun/),
        },
      },
    });
  });

  it("leaves no process behind when it is canceled, not even a grandchild that ignores SIGTERM", async () => {
    const stop = new AbortController();
    const invocation = await prepare(`(trap '' TERM; ${SLEEP}) & wait`);
    const running = Array.fromAsync(invocation.execute(stop.signal)).catch(
      () => "ended",
    );
    while (countProcesses(SLEEP) === 0) await delay(20);
    stop.abort();
    expect(await running).toBe("ended");
    expect(countProcesses(SLEEP)).toBe(0);
  });

  it("leaves no process behind when it ends by itself", async () => {
    await run(`${SLEEP} & echo done`);
    expect(countProcesses(SLEEP)).toBe(0);
  });

  it("shows its output while it runs, and only the end of a flood (TOOL-7)", async () => {
    let nowMs = 0;
    const clock = { now: () => (nowMs += 100), timeout: AbortSignal.timeout };
    const live: string[] = [];
    const flood = "for i in $(seq 20000); do echo line $i; done";
    const events = await run(
      `echo first; until test -e shown; do sleep 0.01; done; ${flood}`,
      { ...OPTIONS, clock },
      (text) => {
        live.push(text);
        putFile(root, "shown", "");
      },
    );
    expect(live[0]).toBe("first\n");
    expect(live.at(-1)).toMatch(/^\[first \d+ of \d+ characters cut\]\n/);
    expect(events.at(-1)).toMatchObject({
      value: {
        value: { result: { value: expect.stringContaining("line 20000\n") } },
      },
    });
  });

  it("shows output soon after it was written, even if no more follows (TOOL-7)", async () => {
    const silent = () => existsSync(join(root, "silent"));
    const clock = {
      now: () => (silent() ? 100 : 0),
      timeout: AbortSignal.timeout,
    };
    const live: string[] = [];
    const until = (file: string): string =>
      `until test -e ${file}; do sleep 0.01; done`;
    const command = `echo first; ${until("one")}; echo second; sleep 0.05; touch silent; ${until("two")}`;
    await run(command, { ...OPTIONS, clock }, (text) => {
      live.push(text);
      putFile(root, ["one", "two"][live.length - 1] ?? "", "");
    });
    expect(live).toEqual(["first\n", "first\nsecond\n"]);
  });

  function prepare(
    command: string,
    more: { readonly directory?: string } = {},
    options = OPTIONS,
  ) {
    return runShellCommandTool(workspace, options).prepare(
      { command, ...more },
      AbortSignal.timeout(60_000),
    );
  }

  /**
   * Runs a command, calls back with each snapshot of live output, and returns
   * all events.
   */
  async function run(
    command: string,
    options = OPTIONS,
    onLive?: (text: string) => void,
  ): Promise<ToolEvent[]> {
    const invocation = await prepare(command, {}, options);
    const events: ToolEvent[] = [];
    for await (const event of invocation.execute(AbortSignal.timeout(60_000))) {
      events.push(event);
      if (event.case === "live") onLive?.(event.value);
    }
    return events;
  }
});

/** Waits until Node has reported the end of a child process. */
async function hasEnded(pid: number): Promise<void> {
  while (existsSync(`/proc/${pid}`)) await delay(1);
  await delay(10);
}
