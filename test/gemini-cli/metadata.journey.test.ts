import { createDevtoolClient, textMessage } from "@devtool/client";
import type { CodingServerOptions } from "@devtool/coding-agent";
import { createMcp } from "@devtool/mcp";
import { TaskState } from "@devtool/schema";
import { createServer } from "@devtool/server";
import {
  type AgentOffers,
  Code,
  DevtoolError,
  type OpenAgent,
} from "@devtool/server/agent";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { transportOf } from "../client-of.ts";
import { nodeServer, serverProgram } from "../mcp/servers.ts";
import { startOurs } from "./ours.ts";
import type { Served } from "./peer.ts";
import { type Place, RawClient } from "./raw-client.ts";

/**
 * The metadata of a task in Gemini CLI's own server, as far as it is checked
 * here.
 */
interface Metadata {
  readonly id: string;
  readonly taskState: string;
  readonly availableTools: readonly Tool[];
  readonly mcpServers: readonly {
    readonly name: string;
    readonly status: string;
    readonly tools: readonly Tool[];
  }[];
}

interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameterSchema: {
    readonly type: string;
    readonly properties: object;
  };
}

const mcp: CodingServerOptions["mcp"] = createMcp({
  servers: [
    nodeServer("every", [serverProgram("server-everything"), "stdio"], {
      includeTools: ["echo"],
    }),
    nodeServer("bad", ["-e", "process.exit(1)"]),
  ],
});

describe("the metadata of a task, for a client of Gemini CLI's own server", () => {
  let ours: Served;
  beforeAll(async () => {
    ours = await startOurs({ mcp, onNotice: () => undefined });
  });
  afterAll(() => ours[Symbol.asyncDispose]());

  it("lists the tools of the agent, those of MCP servers included, with their schemas", async () => {
    const { availableTools } = await metadataOf(ours);
    const names = availableTools.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(["read_file", "run_shell_command"]),
    );
    expect(names.filter((name) => name.endsWith("echo"))).toHaveLength(1);
    for (const { description, parameterSchema } of availableTools) {
      expect(description).toMatch(/\w/);
      expect(parameterSchema.type).toBe("object");
    }
  });

  it("lists the MCP servers with their status and their tools", async () => {
    const { availableTools, mcpServers } = await metadataOf(ours);
    const echo = availableTools.filter(({ name }) => name.endsWith("echo"));
    expect(mcpServers.map(({ name, status }) => [name, status])).toEqual([
      ["every", "connected"],
      ["bad", "disconnected"],
    ]);
    expect(mcpServers[0]?.tools).toEqual(expect.arrayContaining(echo));
    expect(mcpServers[1]?.tools).toEqual([]);
  });

  it("lists the MCP servers of the session settings", async () => {
    const transport = transportOf(ours);
    const brought = {
      name: "brought",
      transport: {
        case: "http" as const,
        value: { url: "http://127.0.0.1:1/" },
      },
    };
    const { task } = await createDevtoolClient(transport).tasks.sendMessage({
      message: textMessage("m1", "text Hi."),
      sessionSettings: { mcpServers: [brought] },
    });
    const { mcpServers } = await metadataOf(ours, task?.id);
    expect(mcpServers.at(-1)).toEqual({
      name: "brought",
      status: "disconnected",
      tools: [],
    });
  });
});

describe("the metadata of a task whose agent", () => {
  it.each<[string, OpenAgent["offers"]]>([
    ["lists nothing", undefined],
    [
      "cannot say",
      () =>
        Promise.reject(
          new DevtoolError("the workspace is gone", Code.FailedPrecondition),
        ),
    ],
  ])("%s has empty lists, and the state", async (_title, offers) => {
    await using server = await serve({ ...(offers && { offers }) });
    expect(await metadataOf(server)).toMatchObject({
      taskState: "input-required",
      availableTools: [],
      mcpServers: [],
    });
  });

  it("names its tools lists them", async () => {
    const tool = { name: "publish", description: "Publishes." };
    const offered: AgentOffers = {
      tools: [tool],
      mcpServers: [{ name: "docs", status: "connecting", tools: [] }],
    };
    await using server = await serve({
      offers: () => Promise.resolve(offered),
    });
    expect(await metadataOf(server)).toMatchObject({
      availableTools: [tool],
      mcpServers: offered.mcpServers,
    });
  });

  function serve(more: Partial<OpenAgent>) {
    const createExecutor: OpenAgent["createExecutor"] = () => ({
      async *execute() {
        yield {
          case: "end",
          value: { state: TaskState.COMPLETED, text: "Done." },
        };
      },
    });
    const agent = {
      about: { name: "own", description: "Is done." },
      open: () => ({ createExecutor, ...more }),
    };
    return createServer({ agents: { agent }, workspace: process.cwd() });
  }
});

/** Returns the metadata of a task. Without an id, begins a task first. */
async function metadataOf(
  {
    url,
    token,
    workspace = process.cwd(),
  }: Omit<Place, "workspace"> & Partial<Place>,
  id?: string,
): Promise<Metadata> {
  const client = new RawClient({ url, token, workspace });
  if (id === undefined) await client.begin("text Hi.");
  const { status, body } = await client.http(
    "GET",
    `/tasks/${id ?? client.taskId}/metadata`,
  );
  expect(status).toBe(200);
  return JSON.parse(body).metadata;
}
