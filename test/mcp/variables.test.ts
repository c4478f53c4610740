import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { promisify } from "node:util";
import type { McpServer } from "@agentclientprotocol/sdk";
import { portAgentFrom, serveAcp, stdioStream } from "@devtool/acp/port";
import { textMessage } from "@devtool/client";
import { fetchAgentCard } from "@devtool/client/a2a";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { Editor } from "../acp/port/editor.ts";
import { bareRun, postRun } from "../ag-ui/post-run.ts";
import { CLIENTS, clientOf } from "../client-of.ts";
import { MAIN } from "../our-command.ts";

const SECRET = "s3cret-of-the-operator";
/** A busy machine starts servers late. */
const PATIENCE = { timeout: 120_000 };
// biome-ignore lint/suspicious/noTemplateCurlyInString: what is not replaced
const SPELLINGS = "${OPERATOR_KEY} $OPERATOR_KEY ${env:OPERATOR_KEY}";

describe("a variable of the operator's environment in an MCP server that others bring", () => {
  let server: DevtoolServer;
  let workspace: string;
  const requests: IncomingMessage[] = [];
  /** An MCP server's address that keeps what it is sent, and knows nothing. */
  const sink = createServer((request, response) => {
    requests.push(request);
    response.writeHead(500).end();
  });
  let url: string;

  beforeAll(async () => {
    vi.stubEnv("OPERATOR_KEY", SECRET);
    await new Promise<void>((resolve) => sink.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${Object(sink.address()).port}/mcp`;
    workspace = temporaryDirectory();
    server = await serveCodingAgent({
      workspace,
      clientMcpServers: "all",
      sandbox: "none",
      mcp: createMcp(),
      onNotice: () => undefined,
    });
  });
  afterAll(async () => {
    await server.close();
    sink.closeAllConnections();
    sink.close();
    vi.unstubAllEnvs();
  });

  /** Two servers, of which each keeps what it has in place of the variable. */
  function brought() {
    const directory = temporaryDirectory();
    const file = join(directory, "seen");
    const script = `require("fs").writeFileSync(${JSON.stringify(file)}, process.argv[1] + process.env.KEY)`;
    const stdio = {
      command: process.execPath,
      args: ["-e", script, SPELLINGS],
      env: { KEY: SPELLINGS },
    };
    const own = crypto.randomUUID();
    const http = {
      url: `${url}?of=${own}&key=${SPELLINGS}`,
      headers: { "x-key": SPELLINGS },
    };
    const request = () => requests.find((each) => each.url?.includes(own));
    const seen = async (): Promise<string> => {
      await expect.poll(() => existsSync(file), PATIENCE).toBe(true);
      await expect.poll(request, PATIENCE).toBeDefined();
      const { headers, url: asked = "" } = request() ?? {};
      const sent = [headers?.["x-key"], decodeURIComponent(asked)];
      return [fileText(directory, "seen"), ...sent].join("\n");
    };
    return { stdio, http, seen };
  }
  const serversOf = ({ stdio, http }: ReturnType<typeof brought>) => [
    { name: "local", transport: { case: "stdio" as const, value: stdio } },
    { name: "far", transport: { case: "http" as const, value: http } },
  ];
  const message = () => textMessage(crypto.randomUUID(), "text Hi.");

  const WAYS: Readonly<
    Record<string, (servers: ReturnType<typeof brought>) => Promise<unknown>>
  > = {
    ...Object.fromEntries(
      Object.entries(CLIENTS).map(([binding, over]) => [
        `the first message, over ${binding}`,
        (servers: ReturnType<typeof brought>) =>
          over(server).tasks.sendMessage({
            message: message(),
            sessionSettings: { mcpServers: serversOf(servers) },
          }),
      ]),
    ),
    "a later message": async (servers) => {
      const { tasks } = clientOf(server);
      const { task } = await tasks.sendMessage({ message: message() });
      const { contextId = "" } = task ?? {};
      const sessionSettings = { mcpServers: serversOf(servers) };
      await tasks.sendMessage({
        message: message(),
        contextId,
        sessionSettings,
      });
    },
    "a slash command": (servers) =>
      clientOf(server).commands.runSlashCommand({
        command: { commandPath: ["mcp", "list"] },
        sessionSettings: { mcpServers: serversOf(servers) },
      }),
    "AG-UI": ({ stdio, http }) => {
      const mcpServers = [
        { name: "local", stdio },
        { name: "far", http },
      ];
      const run = bareRun(crypto.randomUUID());
      const forwardedProps = { devtool: { sessionSettings: { mcpServers } } };
      const messages = [{ id: "1", role: "user", content: "text Hi." }];
      return postRun(server, { ...run, messages, forwardedProps });
    },
    ACP: async ({ stdio, http }) => {
      const [input, output] = [new PassThrough(), new PassThrough()];
      const signal = AbortSignal.timeout(30_000);
      const card = await fetchAgentCard({ url: server.url }, signal);
      const agent = portAgentFrom(card);
      const connect = async () => ({
        client: clientOf(server),
        workspace,
        agent,
      });
      void serveAcp({ stream: stdioStream(input, output), connect }, signal);
      await using editor = new Editor(input, output);
      await editor.agent.request("initialize", { protocolVersion: 1 });
      const listOf = (values: Record<string, string>) =>
        Object.entries(values).map(([name, value]) => ({ name, value }));
      const mcpServers: McpServer[] = [
        { name: "local", ...stdio, env: listOf(stdio.env) },
        { ...http, type: "http", name: "far", headers: listOf(http.headers) },
      ];
      const { sessionId } = await editor.agent.request("session/new", {
        cwd: workspace,
        mcpServers,
      });
      await editor.prompt(sessionId, "text Hi.");
    },
  };

  it.each(Object.keys(WAYS))("is not replaced: %s", async (way) => {
    const servers = brought();
    await WAYS[way]?.(servers);
    const seen = await servers.seen();
    expect(seen).not.toContain(SECRET);
    expect(seen.split(SPELLINGS)).toHaveLength(5);
  });

  it("is not read from any file of the repository, nor is a server of one", async () => {
    const { stdio, http } = brought();
    const servers = { local: stdio, far: { ...http, httpUrl: http.url } };
    const json = JSON.stringify({ mcpServers: servers, servers });
    const toml = `[[mcp_servers]]\nname = "far"\nhttp = { url = "${url}" }\n`;
    for (const name of [
      ...[".mcp.json", "mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"],
      ...[".gemini/settings.json", "gemini-extension.json"],
      ".gemini/extensions/evil/gemini-extension.json",
      ...[".claude/settings.json", ".claude.json", ".qwen/settings.json"],
    ]) {
      putFile(workspace, name, json);
    }
    for (const name of [".codex/config.toml", "config.toml"]) {
      putFile(workspace, name, toml);
    }
    putFile(workspace, ".devtool/config.toml", toml);
    const before = requests.length;
    const client = clientOf(server);
    await client.tasks.sendMessage({ message: message() });
    const { result } = await client.commands.runSlashCommand({
      command: { commandPath: ["mcp", "list"] },
    });
    const { task } = await client.tasks.getTask({
      taskId: result?.executionId ?? "",
    });
    expect(
      JSON.stringify(task?.history.map(({ parts }) => parts[0]?.content)),
    ).toContain("There are no MCP servers.");
    expect(requests).toHaveLength(before);
  });

  it("is not replaced in what devtool mcp import prints", async () => {
    const directory = temporaryDirectory();
    const far = {
      type: "http",
      url,
      headers: { "x-key": SPELLINGS.split(" ")[0] },
    };
    putFile(directory, ".mcp.json", JSON.stringify({ mcpServers: { far } }));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [MAIN, "mcp", "import", join(directory, ".mcp.json")],
      { env: { ...process.env, HOME: directory } },
    );
    // biome-ignore lint/suspicious/noTemplateCurlyInString: what is not replaced
    expect(stdout).toContain("${OPERATOR_KEY}");
    expect(stdout).not.toContain(SECRET);
  });
});
