import { existsSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { JsonObject } from "@bufbuild/protobuf";
import { subscribeTask, textMessage } from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  findToolCallDetail,
  type Task,
  TaskState,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";

describe("a call that an MCP server over HTTP made a task (SEP-2663)", () => {
  let data: string;
  let workspace: string;
  let remote: TaskServer;
  let server: ServerProcess;
  const start = (): Promise<ServerProcess> =>
    startServing(["--data", data, "--workspace", workspace, "--no-console"]);
  beforeEach(async () => {
    data = temporaryDirectory();
    workspace = temporaryDirectory();
    remote = await TaskServer.start();
    configure({ tasks: remote });
    server = await start();
  });
  afterEach(async () => {
    await server.kill();
    await remote[Symbol.asyncDispose]();
  });

  const configure = (servers: Record<string, TaskServer>): void => {
    const write = (file: string, textOf: (name: string) => string): void =>
      writeFileSync(
        join(data, file),
        Object.keys(servers).map(textOf).join("\n"),
      );
    write(
      "config.toml",
      (name) =>
        `[[mcp_servers]]\nname = "${name}"\nhttp = { url = "${servers[name]?.url}" }\ncall_timeout = "20s"`,
    );
    write(
      "policy.toml",
      (name) =>
        `[[rule]]\nmcp_server = "${name}"\ndecision = "allow"\n[[rule]]\ntool = "write_file"\npath = "${name}.txt"\ndecision = "allow"`,
    );
  };
  /** Begins a task with calls, and returns its id when the first is one, too. */
  const begin = async (
    calls = "call mcp__tasks__report {}",
  ): Promise<string> => {
    const { task } = await clientOf(server.info).tasks.sendMessage({
      message: textMessage("m1", `${calls}\ntext Done.`),
      returnImmediately: true,
    });
    if (!task) throw new Error("no task");
    // The call looks at its task once the log has that.
    await expect.poll(() => remote.calls("tasks/get")).toBeGreaterThan(0);
    return task.id;
  };
  /** Kills the server, and starts it again while the MCP server is away. */
  const restartAlone = async (): Promise<void> => {
    await server.kill();
    remote.isAway = true;
    server = await start();
  };
  const get = async (taskId: string): Promise<Task> => {
    const { task } = await clientOf(server.info).tasks.getTask({ taskId });
    if (!task) throw new Error("no task");
    return task;
  };
  const callOf = ({ history }: Task) =>
    history.flatMap(toolCallsOf).find(({ toolName }) => toolName !== "");
  const completed = (taskId: string) =>
    expect
      .poll(async () => TaskState[(await get(taskId)).state], {
        timeout: 30_000,
      })
      .toBe("COMPLETED");

  it("goes on after kill -9: the call ran once, and its result is there", async () => {
    const taskId = await begin();
    const begun = await get(taskId);
    const { toolCallId = "" } = callOf(begun) ?? {};
    expect(findToolCallDetail(begun, toolCallId)?.delegation).toMatchObject({
      ...{ mcpServer: "tasks", taskId: "t1", agent: "" },
    });
    await server.kill();
    remote.result = "the report";
    server = await start();
    await completed(taskId);
    const result = callOf(await get(taskId))?.result;
    expect(JSON.stringify(result)).toContain("the report");
    expect(remote.calls("tools/call")).toBe(1);
    expect(remote.calls("tasks/cancel")).toBe(0);
  });

  it("waits for its server after kill -9, however often that is away", async () => {
    const taskId = await begin();
    await restartAlone();
    // More than a server is tried that is only needed.
    await expect
      .poll(() => remote.refused, { timeout: 60_000 })
      .toBeGreaterThan(3);
    expect(TaskState[(await get(taskId)).state]).toBe("WORKING");
    remote.result = "the report";
    remote.isAway = false;
    await completed(taskId);
    const result = callOf(await get(taskId))?.result;
    expect(JSON.stringify(result)).toContain("the report");
    expect(remote.calls("tools/call")).toBe(1);
  });

  it("keeps no call of another server waiting, and tells the user until when it waits itself", async () => {
    await using other = await TaskServer.start();
    configure({ tasks: remote, other });
    await server.kill();
    server = await start();
    const taskId = await begin(
      "call mcp__tasks__report {}\ncall mcp__other__report {}\nwrite other.txt After.",
    );
    await expect.poll(() => other.calls("tasks/get")).toBeGreaterThan(0);
    await server.kill();
    remote.isAway = true;
    other.result = "the other report";
    server = await start();
    const statusOf = async (name: string) =>
      ToolCallStatus[
        (await get(taskId)).history
          .flatMap(toolCallsOf)
          .find(({ toolName }) => toolName === name)?.status ?? 0
      ];
    await expect
      .poll(() => statusOf("mcp__other__report"), { timeout: 60_000 })
      .toBe("SUCCEEDED");
    expect(await statusOf("mcp__tasks__report")).toBe("EXECUTING");
    // What follows in the step keeps its place.
    expect(existsSync(join(workspace, "other.txt"))).toBe(false);
    const after = { taskId, afterSequence: 0n };
    const client = clientOf(server.info);
    for await (const { payload } of subscribeTask(
      client,
      after,
      AbortSignal.timeout(30_000),
    )) {
      if (payload.case !== "notice") continue;
      const [, name, until = ""] =
        /^MCP server "(\w+)" is not there: .* waits for it until (.*)$/.exec(
          payload.value.text,
        ) ?? [];
      expect(name).toBe("tasks");
      const waitMs = Date.parse(until) - Date.now();
      expect(waitMs).toBeGreaterThan(3_000_000);
      expect(waitMs).toBeLessThanOrEqual(3_600_000);
      break;
    }
    remote.result = "the report";
    remote.isAway = false;
    await completed(taskId);
    const { history } = await get(taskId);
    expect(JSON.stringify(history.flatMap(toolCallsOf))).toContain(
      "the report",
    );
    expect(existsSync(join(workspace, "other.txt"))).toBe(true);
    expect(remote.calls("tools/call") + other.calls("tools/call")).toBe(2);
  });

  it("waits no longer once its task is cancelled", async () => {
    const taskId = await begin();
    await restartAlone();
    await expect
      .poll(() => remote.refused, { timeout: 60_000 })
      .toBeGreaterThan(0);
    const { task } = await clientOf(server.info).tasks.cancelTask({ taskId });
    expect(task?.state).toBe(TaskState.CANCELED);
  });

  it("waits no longer than its server keeps the task", async () => {
    remote.ttlMs = 1;
    const taskId = await begin();
    const call = callOf(await get(taskId));
    const detail = findToolCallDetail(await get(taskId), `${call?.toolCallId}`);
    expect(detail?.delegation?.expireTime).toBeDefined();
    await restartAlone();
    await completed(taskId);
    const failed = callOf(await get(taskId));
    expect(failed?.status).toBe(ToolCallStatus.FAILED);
    expect(failed?.result.value).toMatchObject({
      message:
        'MCP server "tasks" has not come back, and the call waits no longer; what its task did is unknown',
    });
  });

  it("goes on after an orderly stop, which cancels nothing", async () => {
    const taskId = await begin();
    await server.stop();
    expect(remote.calls("tasks/cancel")).toBe(0);
    remote.result = "the report";
    server = await start();
    await completed(taskId);
    expect(remote.calls("tools/call")).toBe(1);
  });

  it("is cancelled at its server with the task, and no other agent is missed", async () => {
    const taskId = await begin();
    const client = clientOf(server.info);
    await client.tasks.cancelTask({ taskId });
    expect(remote.calls("tasks/cancel")).toBe(1);
    const notices: string[] = [];
    for await (const { payload } of subscribeTask(
      client,
      { taskId },
      AbortSignal.timeout(30_000),
    )) {
      if (payload.case === "notice") notices.push(payload.value.text);
    }
    expect(notices).toEqual([]);
  });

  it("is not lost with a look at its task that fails", async () => {
    const taskId = await begin();
    remote.failures = 3;
    await expect.poll(() => remote.failures).toBe(0);
    remote.result = "the report";
    await completed(taskId);
    const result = callOf(await get(taskId))?.result;
    expect(JSON.stringify(result)).toContain("the report");
  });
});

/** An MCP server of 2026-07-28 with one tool, whose calls become tasks. */
class TaskServer implements AsyncDisposable {
  /** The result of the task; empty while it works. */
  result = "";
  /** The number of looks at the task that fail from now on. */
  failures = 0;
  /** Whether each connection is cut from now on. */
  isAway = false;
  /** The number of connections that were cut so. */
  refused = 0;
  /** How long the server says that it keeps the task. */
  ttlMs: number | null = null;
  readonly #log: string[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer(async (request, response) => {
      if (this.isAway) {
        this.refused++;
        return void response.destroy();
      }
      if (request.method !== "POST") return void response.writeHead(405).end();
      const message: JsonObject = JSON.parse(await text(request));
      const method = String(message.method);
      this.#log.push(method);
      if (method === "tasks/get" && this.failures > 0) {
        this.failures--;
        // One is cut, the next is an error of HTTP.
        if (this.failures % 2 === 0) return void response.destroy();
        return void response.writeHead(503).end();
      }
      if (message.id === undefined) return void response.writeHead(202).end();
      const result = {
        resultType: "complete",
        ttlMs: 0,
        cacheScope: "private",
        ...this.#answer(method),
      };
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
    });
  }

  static async start(): Promise<TaskServer> {
    const made = new TaskServer();
    await new Promise<void>((resolve) =>
      made.#server.listen(0, "127.0.0.1", resolve),
    );
    return made;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${Object(address).port}/mcp`;
  }

  calls(method: string): number {
    return this.#log.filter((each) => each === method).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(method: string): object {
    switch (method) {
      case "server/discover":
        return {
          supportedVersions: ["2026-07-28"],
          capabilities: {
            tools: {},
            extensions: { "io.modelcontextprotocol/tasks": {} },
          },
          serverInfo: { name: "tasks", version: "1" },
        };
      case "tools/list":
        return {
          tools: [{ name: "report", inputSchema: { type: "object" } }],
        };
      case "tools/call":
        return { resultType: "task", ...this.#task("working") };
      case "tasks/get":
        return this.result === ""
          ? this.#task("working")
          : {
              ...this.#task("completed"),
              result: { content: [{ type: "text", text: this.result }] },
            };
      default:
        return {};
    }
  }

  #task(status: string): object {
    const at = "2026-11-30T09:00:00Z";
    return {
      ...{ taskId: "t1", status, createdAt: at, lastUpdatedAt: at },
      ...{ ttlMs: this.ttlMs, pollIntervalMs: 100 },
    };
  }
}
