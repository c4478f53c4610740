import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import {
  type AgentConnection,
  agent,
  type CreateTerminalRequest,
  client,
} from "@agentclientprotocol/sdk";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ClientGate } from "./client-action.ts";
import { Terminals } from "./terminals.ts";

describe("terminals for an agent", () => {
  let base: string;
  let workspace: string;
  let terminals: Terminals;
  let connection: AgentConnection;
  /** What an action waits for, as for the answer of a user. */
  let allowed: Promise<void>;
  const gate: ClientGate = {
    run: async (_action, perform) => {
      await allowed;
      return await perform();
    },
  };
  beforeEach(() => {
    allowed = Promise.resolve();
    base = temporaryDirectory();
    workspace = join(base, "workspace");
    mkdirSync(join(workspace, "src"), { recursive: true });
    const app = client({ name: "test" });
    terminals = new Terminals({
      workspacePath: workspace,
      gate,
      onOutput: () => undefined,
    });
    terminals.register(app);
    connection = agent({ name: "test" }).connect(app);
  });
  afterEach(async () => {
    await terminals[Symbol.asyncDispose]();
    connection.close();
  });

  const create = async (
    request: Omit<CreateTerminalRequest, "sessionId">,
  ): Promise<string> => {
    const { terminalId } = await connection.client.request("terminal/create", {
      sessionId: "s",
      ...request,
    });
    return terminalId;
  };
  const sh = (
    script: string,
    more: Partial<CreateTerminalRequest> = {},
  ): Promise<string> =>
    create({ command: "/bin/sh", args: ["-c", script], ...more });
  /** Waits for the end of a terminal and returns what it has printed. */
  const outputOf = async (terminalId: string): Promise<string> => {
    await connection.client.request("terminal/wait_for_exit", {
      sessionId: "s",
      terminalId,
    });
    const { output } = await connection.client.request("terminal/output", {
      sessionId: "s",
      terminalId,
    });
    return output;
  };

  it("run in the workspace, or below it", async () => {
    expect(await outputOf(await sh("pwd"))).toBe(`${workspace}\n`);
    expect(
      await outputOf(await sh("pwd", { cwd: join(workspace, "src") })),
    ).toBe(`${workspace}/src\n`);
  });

  it.each([
    ["above the workspace", (): string => base],
    ["by dots", (): string => `${workspace}/src/../..`],
    ["behind a link", linked],
    ["in a process's root", (): string => "/proc/self/root"],
    ["in a place that does not exist", (): string => "/no/such/place"],
  ])("do not run %s", async (_, cwdOf) => {
    const cwd = cwdOf();
    const message = `path ${JSON.stringify(cwd)} is outside of workspace ${JSON.stringify(workspace)}`;
    await expect(sh("pwd", { cwd })).rejects.toMatchObject({
      code: -32_602,
      message,
    });
  });

  it("do not run where there is not a directory", async () => {
    putFile(workspace, "file", "");
    await expect(
      sh("pwd", { cwd: join(workspace, "file") }),
    ).rejects.toMatchObject({ code: -32_002 });
    await expect(
      sh("pwd", { cwd: join(workspace, "none") }),
    ).rejects.toMatchObject({ code: -32_002 });
    await expect(sh("pwd", { cwd: "src" })).rejects.toMatchObject({
      code: -32_602,
      message: `directory "src" is not absolute: begin it with ${JSON.stringify(workspace)}`,
    });
  });

  it("get the few variables that a process needs, and those of the agent", async () => {
    process.env.DEVTOOL_TEST_SECRET = "secret";
    const output = await outputOf(
      await sh("env", { env: [{ name: "GREETING", value: "a = b" }] }),
    );
    delete process.env.DEVTOOL_TEST_SECRET;
    expect(output).toContain("GREETING=a = b\n");
    expect(output).not.toContain("secret");
  });

  it("refuse words that no process can be given, and name them", async () => {
    const refused = (message: string) => ({ code: -32_602, message });
    await expect(create({ command: "" })).rejects.toMatchObject(
      refused('command "" cannot be run'),
    );
    await expect(create({ command: "a\0b" })).rejects.toMatchObject(
      refused('command "a\\u0000b" cannot be run'),
    );
    await expect(sh("a\0b")).rejects.toMatchObject(
      refused('command "a\\u0000b" cannot be run'),
    );
    for (const name of ["", "A=B", "A\0", "cat x", "A;B", "1A"]) {
      await expect(
        sh("env", { env: [{ name, value: "" }] }),
      ).rejects.toMatchObject(
        refused(`variable ${JSON.stringify(name)} has no valid name`),
      );
    }
  });

  it("find a program in the directories that the user's PATH names, not in the workspace", async () => {
    putFile(workspace, "planted", "#!/bin/sh\necho planted\n");
    chmodSync(join(workspace, "planted"), 0o755);
    const message = 'command "planted" cannot be started: ENOENT';
    await expect(create({ command: "planted" })).rejects.toMatchObject({
      code: -32_602,
      message,
    });
    expect(await outputOf(await create({ command: "./planted" }))).toBe(
      "planted\n",
    );
  });

  it("keep the end of the output, from the beginning of a character", async () => {
    const terminalId = await sh("printf 'äöü'", { outputByteLimit: 3 });
    expect(await outputOf(terminalId)).toBe("ü");
    const { truncated, exitStatus } = await connection.client.request(
      "terminal/output",
      {
        sessionId: "s",
        terminalId,
      },
    );
    expect([truncated, exitStatus]).toEqual([
      true,
      { exitCode: 0, signal: null },
    ]);
  });

  it("end when their command has ended, although something that it left holds the output open", async () => {
    const terminalId = await sh("sleep 1000 & echo $!");
    const pid = Number(await outputOf(terminalId));
    expect(isRunning(pid)).toBe(true);
    await connection.client.request("terminal/release", {
      sessionId: "s",
      terminalId,
    });
    await expect.poll(() => isRunning(pid), { timeout: 60_000 }).toBe(false);
  });

  it("are killed, and say by what", async () => {
    const terminalId = await sh("sleep 1000");
    await connection.client.request("terminal/kill", {
      sessionId: "s",
      terminalId,
    });
    const status = await connection.client.request("terminal/wait_for_exit", {
      sessionId: "s",
      terminalId,
    });
    expect(status).toEqual({ exitCode: null, signal: "SIGKILL" });
  });

  it("are at most 32 at a time", async () => {
    for (let number = 0; number < 32; number++) await sh("sleep 1000");
    const message = "the agent has 32 terminals: release one";
    await expect(sh("true")).rejects.toMatchObject({ code: -32_600, message });
  });

  it("that were released are not found, and their output is kept for the last ones only", async () => {
    const ids: string[] = [];
    for (let number = 0; number < 10; number++) {
      const terminalId = await sh(`echo ${number}`);
      await outputOf(terminalId);
      await connection.client.request("terminal/release", {
        sessionId: "s",
        terminalId,
      });
      ids.push(terminalId);
    }
    expect(ids.map((id) => terminals.outputOf(id))).toEqual([
      undefined,
      undefined,
      "2\n",
      "3\n",
      "4\n",
      "5\n",
      "6\n",
      "7\n",
      "8\n",
      "9\n",
    ]);
    const gone = { sessionId: "s", terminalId: ids[0] ?? "" };
    await expect(
      connection.client.request("terminal/output", gone),
    ).rejects.toMatchObject({
      code: -32_002,
      message: `terminal ${JSON.stringify(ids[0])} does not exist`,
    });
  });

  it("do not start from the cancellation of a turn to the next one", async () => {
    const canceled = { message: "the turn was canceled" };
    const held = Promise.withResolvers<void>();
    allowed = held.promise;
    const inFlight = sh("touch left");
    await connection.client
      .request("terminal/output", { sessionId: "s", terminalId: "none" })
      .catch(() => undefined);
    terminals.cancelTurn();
    await expect(sh("touch next")).rejects.toMatchObject(canceled);
    terminals.beginTurn();
    held.resolve();
    await expect(inFlight).rejects.toMatchObject(canceled);
    await outputOf(await sh("true"));
    expect(readdirSync(workspace)).toEqual(["src"]);
  });

  it("do not start once the session has ended", async () => {
    await terminals[Symbol.asyncDispose]();
    await expect(sh("true")).rejects.toMatchObject({
      code: -32_600,
      message: "the session has ended",
    });
  });

  function linked(): string {
    symlinkSync(base, join(workspace, "link"));
    return join(workspace, "link");
  }
});

/**
 * Whether a process runs. One that has ended and that nobody has waited for
 * does not.
 */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
