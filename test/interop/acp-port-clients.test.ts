import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isObject } from "@devtool/internal/json";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  type Task,
  TaskState,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import {
  type ServerProcess,
  startServerProcess,
} from "../durability/crash/server-process.ts";

const here = fileURLToPath(new URL("..", import.meta.url));
const MAIN = join(here, "../packages/cli/dist/main.js");
const ACPX = join(here, "../peers/node_modules/acpx/dist/cli.js");
const PYTHON = join(here, "acp/port/.venv/bin/python");
const run = promisify(execFile);
const NO_ACPX = existsSync(ACPX)
  ? undefined
  : "acpx is missing: run `pnpm install:peers`";
const NO_PYTHON = existsSync(PYTHON)
  ? undefined
  : "the Python SDK is missing: run `pnpm install:interop`";

for (const missing of [NO_ACPX, NO_PYTHON]) {
  if (missing !== undefined) console.info(`skipped: ${missing}`);
}

describe("third-party ACP clients", () => {
  let base: string;
  let work: string;
  let data: string;
  /** `devtool acp`, in words. */
  let agent: readonly string[];
  let server: ServerProcess | undefined;

  beforeEach(async () => {
    base = temporaryDirectory();
    work = join(base, "work");
    data = join(base, "data");
    agent = [process.execPath, MAIN, "acp", "--data", data];
    await mkdir(work);
  });
  afterEach(async () => {
    await server?.kill();
    server = undefined;
    // acpx keeps its sockets here, by its home, and leaves the directory.
    const home = createHash("sha256").update(base).digest("hex");
    const sockets = `/tmp/acpx-${home.slice(0, 10)}`;
    await rm(sockets, { recursive: true, force: true });
  });

  describe.skipIf(NO_ACPX !== undefined)("acpx", () => {
    it("prompts, approves and ends", async () => {
      const { stdout } = await acpx(
        "--approve-all",
        "exec",
        "write made.txt made\ntext Done.",
      );
      expect(stdout).toContain('"stopReason":"end_turn"');
      expect(await readFile(join(work, "made.txt"), "utf8")).toBe("made");
    });

    it("declines a call, which then has not run", async () => {
      await serve();
      await expect(
        acpx("--deny-all", "exec", "write denied.txt no\ntext Not written."),
      ).rejects.toMatchObject({
        code: 5,
        stdout: expect.stringContaining('"devtool.dev/status":"CANCELLED"'),
      });
      expect(existsSync(join(work, "denied.txt"))).toBe(false);
      expect(callsOf((await tasks())[0])).toEqual(["write_file CANCELLED"]);
    });

    it("cancels a prompt from another process", async () => {
      await serve();
      await using owner = await session();
      const prompting = owner.prompt("text Working.\nwait 600000");
      await prompting.shows("Working.");
      expect((await acpx("cancel")).stdout).toContain('"cancelled":true');
      expect(await prompting.output).toContain('"stopReason":"cancelled"');
      expect((await tasks()).map(({ state }) => TaskState[state])).toEqual([
        "CANCELED",
      ]);
    });

    it("goes on with its session when it and `devtool acp` have been started again", async () => {
      await serve();
      await using owner = await session();
      await owner.prompt("text One.").output;
      await owner.end();
      const resumed = framesOf(await owner.prompt("text Two.").output);
      const [first] = await tasks();
      const method = expect.stringMatching(/^session\/(resume|load)$/);
      expect(resumed).toContainEqual(
        expect.objectContaining({
          method,
          params: expect.objectContaining({ sessionId: first?.contextId }),
        }),
      );
      const contexts = new Set(
        (await tasks()).map(({ contextId }) => contextId),
      );
      expect(contexts.size).toBe(1);
      expect(JSON.stringify(resumed)).toContain("Two.");
    });

    it("chooses the mode of a session that has begun", async () => {
      await serve();
      await using owner = await session();
      await owner.prompt("text One.").output;
      expect((await acpx("set-mode", "plan")).stdout).toContain(
        '"modeId":"plan"',
      );
      expect(
        await owner.prompt("write planned.txt no\ntext Planned.").output,
      ).toContain("plan mode changes nothing");
      expect(existsSync(join(work, "planned.txt"))).toBe(false);
    });

    function acpx(
      ...words: readonly string[]
    ): Promise<{ readonly stdout: string }> {
      return run(process.execPath, [...flags(), ...words], {
        env: { ...process.env, HOME: base },
      });
    }

    function flags(): string[] {
      return [
        ACPX,
        "--agent",
        agent.join(" "),
        "--cwd",
        work,
        "--format",
        "json",
      ];
    }

    /**
     * A session that acpx keeps in a process of its own, which holds the agent.
     */
    async function session() {
      await acpx("sessions", "new");
      const end = async (): Promise<void> => {
        const { pid } = JSON.parse((await acpx("status")).stdout);
        if (typeof pid !== "number") return;
        process.kill(pid);
        await expect
          .poll(() => existsSync(`/proc/${pid}`), { timeout: 60_000 })
          .toBe(false);
      };
      return {
        prompt: (text: string) => spawned([...flags(), "prompt", text]),
        end,
        [Symbol.asyncDispose]: end,
      };
    }

    /** A process with what it writes to standard output. */
    function spawned(args: readonly string[]) {
      const child = spawn(process.execPath, args, {
        env: { ...process.env, HOME: base },
        stdio: ["ignore", "pipe", 2],
      });
      let said = "";
      const output = new Promise<string>((resolve) =>
        child.on("close", () => resolve(said)),
      );
      child.stdout?.on("data", (chunk) => (said += chunk));
      const shows = (text: string) =>
        expect.poll(() => said, { timeout: 60_000 }).toContain(text);
      return { output, shows };
    }
  });

  describe.skipIf(NO_PYTHON !== undefined)("the Python SDK", () => {
    it("prompts, approves and ends", async () => {
      const { stdout } = await run(PYTHON, [
        join(here, "acp/port/prompt.py"),
        work,
        ...agent,
      ]);
      expect(stdout).toBe("end_turn Done.\n");
      expect(await readFile(join(work, "python.txt"), "utf8")).toBe("hi");
    });

    it("declines a call, which then has not run", async () => {
      await serve();
      expect(await play("deny")).toEqual({
        stop: "end_turn",
        text: "Not written.",
        statuses: ["pending", "failed"],
      });
      expect(existsSync(join(work, "denied.txt"))).toBe(false);
      expect(callsOf((await tasks())[0])).toEqual(["write_file CANCELLED"]);
    });

    it("cancels a prompt", async () => {
      await serve();
      expect(await play("cancel")).toMatchObject({
        stop: "cancelled",
        text: "Working.",
      });
      expect((await tasks()).map(({ state }) => TaskState[state])).toEqual([
        "CANCELED",
      ]);
    });

    it("loads a session of an agent that has ended, with what was said, and goes on", async () => {
      await serve();
      expect(await play("load")).toMatchObject({
        replayed: "One.",
        stop: "end_turn",
        text: "Two.",
      });
      expect(
        new Set((await tasks()).map(({ contextId }) => contextId)).size,
      ).toBe(1);
    });

    it("resumes a session of an agent that has ended, without what was said, and goes on", async () => {
      await serve();
      expect(await play("resume")).toMatchObject({
        stop: "end_turn",
        text: "Two.",
      });
      expect(
        new Set((await tasks()).map(({ contextId }) => contextId)).size,
      ).toBe(1);
    });

    async function play(scenario: string): Promise<unknown> {
      const { stdout } = await run(PYTHON, [
        join(here, "acp/port/session.py"),
        scenario,
        work,
        ...agent,
      ]);
      return JSON.parse(stdout);
    }
  });

  /** Starts a server that outlives the client. */
  async function serve(): Promise<void> {
    server = await startServerProcess({ data, workspace: work });
  }

  /** The tasks that the server has now. */
  async function tasks(): Promise<Task[]> {
    const { url: baseUrl, token } = server?.info ?? expect.fail("no server");
    const client = clientOf({ url: baseUrl, token }).tasks;
    const list = await client.listTasks({});
    const read = await Promise.all(
      list.tasks.map(({ id }) => client.getTask({ taskId: id })),
    );
    return read.flatMap(({ task }) => task ?? []);
  }
});

function callsOf(task: Task | undefined): string[] {
  const calls = task?.history.flatMap((message) => toolCallsOf(message)) ?? [];
  return calls.map(
    ({ toolName, status }) => `${toolName} ${ToolCallStatus[status]}`,
  );
}

/** The frames of ACP in an output of lines. */
function framesOf(output: string): unknown[] {
  const lines = output.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line): unknown => JSON.parse(line)).filter(isObject);
}
