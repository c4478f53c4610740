import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { findSandbox, noSandbox, type Sandbox } from "@devtool/sandbox";
import {
  type Message,
  MessageSchema,
  Role,
  type ToolCall,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DEFAULT_LOOP_LIMITS, findCallLoop } from "../../agent/loop-guard.ts";
import type { Tool, ToolEvent } from "../tool.ts";
import { Workspace } from "../workspace.ts";
import { BackgroundProcesses } from "./background-processes.ts";
import { waitsForProcess } from "./background-state.ts";
import {
  readBackgroundOutputTool,
  stopBackgroundProcessTool,
} from "./background-tools.ts";
import { runShellCommandTool } from "./run-shell-command.ts";

const PATH = "/usr/local/bin:/usr/bin:/bin";
const found = await findSandbox(
  "auto",
  { path: PATH },
  AbortSignal.timeout(60_000),
);
const sandboxes = found.confines ? [noSandbox(""), found] : [noSandbox("")];

describe.each(sandboxes.map((sandbox) => ({ sandbox, name: sandbox.name })))(
  "background processes, sandbox $name",
  ({ sandbox }) => {
    let root: string;
    let workspace: Workspace;
    let background: BackgroundProcesses;
    let ids: number;
    beforeEach(() => {
      root = temporaryDirectory();
      workspace = new Workspace(root);
      ids = 0;
      background = new BackgroundProcesses({
        nextId: () => `bg-${++ids}`,
        maxRunning: 2,
        maxEnded: 2,
        maxOutputLength: 100,
      });
    });
    afterEach(async () => {
      await background[Symbol.asyncDispose]();
      workspace[Symbol.dispose]();
    });

    it("returns at once, and needs approval like any command", async () => {
      const invocation = await shell().prepare(
        { command: "sleep 60", background: true },
        signal(),
      );
      expect(invocation.description).toMatch(
        /^Run sleep 60 \(in the background\)/,
      );
      expect(invocation.confirmation).toMatchObject({
        value: { command: "sleep 60" },
      });
      const events = await start("sleep 60");
      expect(events[0]).toMatchObject({
        case: "process",
        value: { sandbox: sandbox.name },
      });
      expect(textOf(events.at(-1))).toContain("background process bg-1 runs");
    });

    it("returns the output so far, waits for more, and reports how the process ended", async () => {
      await start(
        "echo one; until test -e go; do sleep 0.01; done; echo two; exit 3",
      );
      expect(await readUntil("bg-1", "one\n")).toContain(
        "bg-1 runs (echo one; until test -e go; do sleep 0.01; done; echo two; exit 3)\none\n",
      );
      await call(shell(), { command: "touch go" });
      expect(await readUntil("bg-1", "exit code")).toMatch(
        /ended with exit code 3 \(echo one; .*\)\none\ntwo\n$/,
      );
    });

    it("B4: waits itself when reads find nothing new, and waiting does not count as repeating", async () => {
      await start("until test -e go; do sleep 0.01; done; echo two");
      const poll = async (): Promise<ToolCall> => {
        const tool = readBackgroundOutputTool(background);
        const invocation = await tool.prepare({ id: "bg-1" }, signal());
        const [event] = await Array.fromAsync(invocation.execute(signal()));
        if (event?.case !== "result") throw new Error("no result");
        return create(ToolCallSchema, {
          toolName: "read_background_output",
          status: ToolCallStatus.SUCCEEDED,
          inputParameters: { id: "bg-1" },
          result: event.value,
        });
      };
      const polled = await poll();
      expect(waitsForProcess(polled)).toBe(true);
      await call(shell(), { command: "touch go" });
      let reads = 1;
      for (let last = polled; waitsForProcess(last); reads++) {
        last = await poll();
      }
      // One read for the output and one for the end, and some of a busy machine.
      expect(reads).toBeLessThan(10);
      const step = (value: ToolCall): Message =>
        create(MessageSchema, {
          role: Role.AGENT,
          parts: [{ content: { case: "toolCall", value } }],
        });
      const wanted = { name: polled.toolName, args: { id: "bg-1" } };
      const check = (history: readonly Message[]): string =>
        findCallLoop(history, [wanted], DEFAULT_LOOP_LIMITS);
      expect(check(Array.from({ length: 150 }, () => step(polled)))).toBe("");
      const ended = step(await poll());
      expect(check(Array.from({ length: 4 }, () => ended))).not.toBe("");
    });

    it("keeps the end of the output", async () => {
      await start("seq 1000");
      const text = await readUntil("bg-1", "exit code");
      expect(text).toContain("characters cut]\n");
      expect(text).toMatch(/\n1000\n$/);
      expect(text.length).toBeLessThan(300);
    });

    it("ends a process with all processes that it started", async () => {
      const sleeping = `sleep ${process.pid}3.1`;
      await start(`echo begun; ${sleeping} & wait`);
      await readUntil("bg-1", "begun");
      expect(
        await call(stopBackgroundProcessTool(background), { id: "bg-1" }),
      ).toMatch(/ended|was ended/);
      expect(isRunning(sleeping)).toBe(false);
      expect(
        await call(readBackgroundOutputTool(background), { id: "bg-1" }),
      ).not.toContain("runs");
    });

    it("ends all processes with the task, and when the call that started them is canceled", async () => {
      const sleeping = `sleep ${process.pid}3.2`;
      const stop = new AbortController();
      await start(`echo begun; ${sleeping}`);
      await start(`echo begun; ${sleeping}`, stop.signal);
      await readUntil("bg-1", "begun");
      await readUntil("bg-2", "begun");
      stop.abort();
      expect(await readUntil("bg-2", "ended")).not.toContain("runs");
      await background[Symbol.asyncDispose]();
      expect(isRunning(sleeping)).toBe(false);
    });

    it("limits the number of running processes, and forgets the oldest ended ones", async () => {
      for (const _ of [1, 2, 3, 4]) {
        await start("true");
        await readUntil(`bg-${ids}`, "exit code");
      }
      await expect(
        call(readBackgroundOutputTool(background), { id: "bg-1" }),
      ).rejects.toThrow("is gone");
      await start("sleep 60");
      await start("sleep 60");
      await expect(start("sleep 60")).rejects.toThrow(
        "limit is 2: stop one of bg-5, bg-6",
      );
    });

    it("reports that a process of an earlier server is gone", async () => {
      await expect(
        call(readBackgroundOutputTool(background), { id: "bg-77" }),
      ).rejects.toThrow(
        'background process "bg-77" is gone: it ended with the server that ran it, or never was: there is none',
      );
    });

    it("has no background argument without background processes", async () => {
      const tool = runShellCommandTool(workspace, options());
      expect(JSON.stringify(tool.declaration)).not.toContain("background");
      const invocation = await tool.prepare(
        { command: "echo hi", background: true },
        signal(),
      );
      expect(invocation.description).toMatch(
        /^Run echo hi( \(without a sandbox\))?$/,
      );
    });

    function options() {
      const environment = { PATH, HOME: root };
      return {
        environment,
        timeoutMs: 120_000,
        maxOutputLength: 4000,
        sandbox: () => Promise.resolve<Sandbox>(sandbox),
      };
    }

    function shell(): Tool {
      return runShellCommandTool(workspace, { ...options(), background });
    }

    async function start(
      command: string,
      until = signal(),
    ): Promise<ToolEvent[]> {
      const invocation = await shell().prepare(
        { command, background: true },
        until,
      );
      return await Array.fromAsync(invocation.execute(until));
    }

    async function readUntil(id: string, text: string): Promise<string> {
      for (;;) {
        const read = await call(readBackgroundOutputTool(background), {
          id,
          wait_ms: 5000,
        });
        if (read.includes(text)) return read;
      }
    }
  },
);

if (!found.confines) console.info(`skipped: ${found.notice}`);
describe.skipIf(!found.confines)("a confined process", () => {
  it("dies with its server, even if the server is killed", async () => {
    const root = temporaryDirectory();
    const sleeping = `sleep ${process.pid}3.3`;
    const { argv, environment } = await found.command({
      argv: ["bash", "-c", `setsid ${sleeping} & touch begun; wait`],
      workingDirectory: root,
      shell: "/bin/bash",
      environment: { PATH },
      access: { workspace: root, readable: [], writable: [], network: "none" },
    });
    const descriptors = ["--seccomp", "--info-fd", "--args"];
    const unfiltered = argv.filter(
      (word, index) =>
        ![word, argv[index - 1] ?? ""].some((one) => descriptors.includes(one)),
    );
    const script = `require("child_process").spawn(${JSON.stringify(unfiltered[0])}, ${JSON.stringify(unfiltered.slice(1))}, { detached: true, env: ${JSON.stringify(environment)} })`;
    const server = spawn(process.execPath, ["-e", script]);
    while (!existsSync(join(root, "begun")) || !isRunning(sleeping)) {
      await turn();
    }
    server.kill("SIGKILL");
    while (isRunning(sleeping)) await turn();
    expect(isRunning(sleeping)).toBe(false);
  });
});

async function call(tool: Tool, args: JsonObject): Promise<string> {
  const invocation = await tool.prepare(args, signal());
  const events = await Array.fromAsync(invocation.execute(signal()));
  return textOf(events.at(-1));
}

function textOf(event: ToolEvent | undefined): string {
  if (event?.case !== "result" || event.value.case !== "output") return "";
  const { result } = event.value.value;
  return result.case === "text" ? result.value : "";
}

function signal(): AbortSignal {
  return AbortSignal.timeout(60_000);
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function isRunning(command: string): boolean {
  return readdirSync("/proc").some(
    (pid) => /^\d+$/.test(pid) && commandLine(pid) === command,
  );
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8")
      .split("\0")
      .join(" ")
      .trim();
  } catch {
    return "";
  }
}
