import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { McpServers } from "../packages/server/src/tool/mcp/mcp-servers.ts";
import type { Question, Tool } from "../packages/server/src/tool/tool.ts";
import { nodeServer, play, serverProgram, serversOf, textOf, toolNamed } from "./mcp/servers.ts";

const signal = AbortSignal.timeout(120_000);

describe("the MCP servers of the reference", () => {
  let workspace: string;
  let servers: McpServers;
  let tools: readonly Tool[];

  beforeAll(async () => {
    workspace = await realpath(await mkdtemp(join(tmpdir(), "devtool-mcp-")));
    await mkdir(join(workspace, "src"));
    await writeFile(join(workspace, "src", "hello.txt"), "hello, file\n");
    ({ servers } = serversOf(
      [
        nodeServer("everything", [serverProgram("server-everything"), "stdio"]),
        nodeServer("files", [serverProgram("server-filesystem"), workspace]),
        nodeServer("memory", [serverProgram("server-memory")], {
          transport: {
            case: "stdio",
            value: {
              command: process.execPath,
              args: [serverProgram("server-memory")],
              env: { MEMORY_FILE_PATH: join(workspace, "memory.json") },
            },
          },
        }),
      ],
      {
        workspacePath: workspace,
        sample: async ({ messages }) => ({ model: "test", text: `sampled ${messages[0]?.text}` }),
      },
    ));
    tools = await servers.tools(signal);
  });

  afterAll(async () => {
    await servers[Symbol.asyncDispose]();
    await rm(workspace, { recursive: true });
  });

  it("are ready, with their tools", () => {
    const status = servers.status().map(({ name, state, reason, toolCount }) => ({ name, state, reason, toolCount }));
    console.log(
      status,
      tools.map((t) => t.declaration.name),
    );
    expect(status).toEqual([
      { name: "everything", state: "ready", reason: "", toolCount: 13 },
      { name: "files", state: "ready", reason: "", toolCount: 14 },
      { name: "memory", state: "ready", reason: "", toolCount: 9 },
    ]);
  });

  it("answer with text", async () => {
    expect(textOf(await play(toolNamed(tools, "everything__echo"), { message: "hi" }, signal))).toBe("Echo: hi");
  });
});
