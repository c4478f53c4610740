import { chmodSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { textMessage } from "@devtool/client";
import {
  type CodingServerOptions,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import { findSandbox } from "@devtool/sandbox";
import { ApprovalMode, type Task, toolCallsOf } from "@devtool/schema";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { clientOf } from "../client-of.ts";

/** A server on standard streams with one tool, which says what it reaches. */
const PROGRAM = `
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const tried = async (run) => {
  try {
    return String(await run());
  } catch (reason) {
    return String(reason.cause?.code ?? reason.code);
  }
};
const look = async ({ secret, address, workspace, own }) => ({
  secret: await tried(() => readFileSync(secret, "utf8")),
  network: await tried(async () => (await fetch(address)).text()),
  workspace: await tried(() => writeFileSync(workspace + "/made.txt", "made")),
  own: await tried(() => writeFileSync(own + "/made.txt", "made")),
  variables: ["BASH_ENV", "TOKEN"].filter((name) => name in process.env),
});
const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "lone", version: "1" },
  }),
  "tools/list": () => ({
    tools: [{ name: "look", inputSchema: { type: "object" } }],
  }),
  "tools/call": async ({ arguments: args }) => ({
    content: [{ type: "text", text: JSON.stringify(await look(args)) }],
  }),
  ping: () => ({}),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = await results[method]?.(params);
  const error = { code: -32601, message: "no such method" };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
}
`;

const found = await findSandbox(
  "auto",
  { path: process.env.PATH ?? "" },
  AbortSignal.timeout(60_000),
);
const why = found.confines ? "" : ` (skipped: ${found.notice})`;

describe("an MCP server with sandbox = true", () => {
  it.skipIf(!found.confines)(
    `reaches its workspace alone, and ends with the server${why}`,
    async () => {
      const place = putProgram();
      const web = createServer((_request, response) => response.end("reached"));
      await new Promise<void>((resolve) =>
        web.listen(0, "127.0.0.1", () => resolve()),
      );
      onTestFinished(() => void web.close());
      const { port } = Object(web.address());
      const outside = temporaryDirectory();
      putFile(outside, "secret", "s3cret");
      const secret = join(outside, "secret");
      await using server = await serve(place, {});
      const args = {
        ...{ secret, address: `http://127.0.0.1:${port}` },
        ...{ workspace: place.workspace, own: place.directory },
      };
      const task = await call(server, args);
      expect(JSON.parse(resultOf(task))).toEqual({
        secret: "ENOENT",
        network: "ECONNREFUSED",
        workspace: "undefined",
        own: "EROFS",
        variables: ["BASH_ENV", "TOKEN"],
      });
      expect(readdirSync(place.directory)).toEqual(["server.mjs"]);
      expect(processesOf("t0ken")).toEqual([]);
      expect(fileText(place.workspace, "made.txt")).toBe("made");
      expect(processesOf(place.directory)).not.toEqual([]);
      await server.close();
      await expect.poll(() => processesOf(place.directory)).toEqual([]);
    },
  );

  it.skipIf(!found.confines)(
    `reads no home directory by where its program or its work is${why}`,
    async () => {
      const place = putProgram();
      putFile(place.directory, "secret", "s3cret");
      const program = join(place.directory, "server");
      putFile(place.directory, "server", `#!/usr/bin/env node\n${PROGRAM}`);
      chmodSync(program, 0o755);
      vi.stubEnv("HOME", place.directory);
      onTestFinished(() => void vi.unstubAllEnvs());
      const notices: string[] = [];
      const onNotice = (text: string) => notices.push(text);
      const secret = join(place.directory, "secret");
      const args = { secret, address: "http://127.0.0.1:1", own: "/usr" };
      const { workspace, directory } = place;
      const command = { command: program, args: [] };
      await using server = await serve(
        place,
        { onNotice },
        { ...command, workingDirectory: workspace },
      );
      const task = await call(server, { ...args, workspace });
      expect(JSON.parse(resultOf(task))).toMatchObject({ secret: "ENOENT" });
      await using atHome = await serve(
        place,
        { onNotice },
        { ...command, workingDirectory: directory },
      );
      await call(atHome, { ...args, workspace });
      expect(notices).toContainEqual(
        expect.stringContaining("has the home directory in it"),
      );
    },
  );

  it("does not start where no sandbox works, and says why", async () => {
    const place = putProgram();
    const notices: string[] = [];
    await using server = await serve(place, {
      sandbox: "none",
      onNotice: (text) => notices.push(text),
    });
    const task = await call(server, {});
    expect(task.history.flatMap(toolCallsOf)[0]?.result.value).toMatchObject({
      type: "tool_not_registered",
    });
    expect(notices).toContain(
      'MCP server "lone" is not started, since it has sandbox = true: the sandbox is switched off',
    );
    expect(processesOf(place.directory)).toEqual([]);
  });
});

interface Place {
  readonly workspace: string;
  /** The directory of the program. */
  readonly directory: string;
}

function putProgram(): Place {
  const directory = temporaryDirectory();
  putFile(directory, "server.mjs", PROGRAM);
  const workspace = temporaryDirectory();
  putFile(workspace, "run.sh", `: >${join(directory, "ran")}`);
  return { directory, workspace };
}

/**
 * Serves an agent with the program, whose variables would let a bash outside of the
 * sandbox run a file of the workspace.
 */
function serve(
  { workspace, directory }: Place,
  options: CodingServerOptions,
  more: {
    readonly command?: string;
    readonly args?: string[];
    readonly workingDirectory?: string;
  } = {},
): ReturnType<typeof serveCodingAgent> {
  const program = {
    command: process.execPath,
    args: [join(directory, "server.mjs")],
    workingDirectory: directory,
    env: { BASH_ENV: join(workspace, "run.sh"), TOKEN: "t0ken" },
    ...more,
  };
  return serveCodingAgent({
    workspace,
    approvalMode: ApprovalMode.YOLO,
    mcp: createMcp({
      servers: [
        {
          name: "lone",
          sandbox: true,
          transport: { case: "stdio", value: program },
        },
      ],
    }),
    ...options,
  });
}

async function call(
  server: Awaited<ReturnType<typeof serveCodingAgent>>,
  args: object,
): Promise<Task> {
  const { task } = await clientOf(server).tasks.sendMessage({
    message: textMessage(
      crypto.randomUUID(),
      `call mcp__lone__look ${JSON.stringify(args)}`,
    ),
  });
  if (!task) throw new Error("there is no task");
  return task;
}

function resultOf(task: Task): string {
  const [call] = task.history.flatMap(toolCallsOf);
  const { result } = call ?? {};
  if (result?.case !== "output" || result.value.result.case !== "text") {
    throw new Error(JSON.stringify(result?.value));
  }
  return result.value.result.value;
}

/** The processes whose command line names a directory. */
function processesOf(directory: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(directory);
    } catch {
      return false;
    }
  });
}
