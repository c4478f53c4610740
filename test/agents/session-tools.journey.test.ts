import { once } from "node:events";
import { createServer as createWeb, type RequestListener } from "node:http";
import { json } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "@bufbuild/protobuf";
import {
  type CodingServerOptions,
  serveCodingAgent,
} from "@devtool/coding-agent";
import {
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeServer } from "../mcp/servers.ts";
import { callRpc } from "../post-json.ts";

const ODD = fileURLToPath(new URL("../mcp/odd-server.ts", import.meta.url));
const EXT =
  "https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md";
const TASK = "https://devtool.dev/a2a/task/v1alpha";

describe("what a session can use (SESSION-3)", () => {
  const workspace = temporaryDirectory();
  let editor: Web;
  let server: DevtoolServer;
  beforeAll(async () => {
    editor = await serveWeb(answerMcp);
    server = await serve({});
  });
  afterAll(async () => {
    await server.close();
    await editor[Symbol.asyncDispose]();
  });

  it("N1: is shown by the task, where its client limits the tools", async () => {
    const task = await begin({ allowed_tools: ["read_file", "glob"] });
    expect(toolsOf(task)).toEqual({ tools: ["read_file", "glob"] });
    expect(task.words).not.toContain("no such tool");
  });

  it("N1: is not shown by the task of any other session", async () => {
    expect(toolsOf(await begin({}))).toBeUndefined();
  });

  it("N1: names an allowed tool that does not exist", async () => {
    const task = await begin({ allowed_tools: ["nope", "read_file"] });
    expect(task.words).toContain(
      'allowed_tools "nope": there is no such tool now',
    );
  });

  it("N1: says that a tool is not allowed, and not that it does not exist", async () => {
    const allowed_tools = ["read_file"];
    const task = await begin({ allowed_tools }, "run touch x\ncall nope {}");
    const text = JSON.stringify(task.task);
    for (const name of ["run_shell_command", "nope"]) {
      expect(text).toContain(
        `tool \\"${name}\\" is not among the allowed_tools of this session: choose read_file`,
      );
    }
    expect(text.match(/"type":"policy_violation"/g)).toHaveLength(2);
    const free = await begin({}, "call nope {}");
    expect(JSON.stringify(free.task)).toContain('"type":"tool_not_registered"');
  });

  it.each([
    ["shell", "ls", "run_shell_command"],
    ["memory add", "x", "save_memory"],
    ["init", "", "write_file"],
  ])("N1: /%s does not start without its tool", async (name, args, tool) => {
    const { contextId } = await begin({ allowed_tools: ["read_file"] });
    const result = await call("command/execute", {
      command_path: name.split(" "),
      args,
      contextId,
    });
    expect(result).toMatchObject({
      status: "FAILED_TO_START",
      message: `/${name} needs the tool ${tool}, which is not among the allowed_tools of this session`,
    });
  });

  it("N2: says which MCP server of the client cannot be used, and why", async () => {
    const port = new URL(editor.url).port;
    for (const [url, reason] of [
      [
        `${editor.url}/mcp`,
        `the operator allows it with mcp_targets = ["127.0.0.1:${port}"]`,
      ],
      ["http://nowhere.invalid/mcp", "cannot be reached"],
    ] as const) {
      const task = await begin({
        mcp_servers: [{ name: "ctx", http: { url } }],
      });
      expect(task.words).toMatch(/MCP server "ctx": .*goes on without/);
      expect(task.words).toContain(reason);
      expect(toolsOf(task)).toMatchObject({
        mcpServers: [
          {
            name: "ctx",
            state: "MCP_CONNECTION_STATE_FAILED",
            reason: expect.stringContaining(reason),
          },
        ],
      });
    }
  });

  it("N2: says that the operator has a server of that name", async () => {
    const http = { url: `${editor.url}/mcp` };
    const servers = [
      { name: "ctx", transport: { case: "http" as const, value: http } },
    ];
    await using own = await serve({ mcp: createMcp({ servers }) });
    const task = await begin(
      { mcp_servers: [{ name: "ctx", http }] },
      "text Hi.",
      own,
    );
    expect(task.words).toContain(
      'MCP server "ctx" of the client is not used: the operator has one of that name',
    );
  });

  it("B1: is what the operator's MCP servers list, without the odd tools, which a notice names once", async () => {
    const good = { name: "good", inputSchema: { type: "object" } };
    const odd = Array.from({ length: 50 }, (_one, at) => ({ name: `t${at}` }));
    const tools = [null, good, ...odd];
    const answers = { "tools/list": { result: { tools } } };
    const servers = [nodeServer("odd", [ODD, JSON.stringify({ answers })])];
    await using own = await serve({ mcp: createMcp({ servers }) });
    const first = await begin({}, "call mcp__odd__good {}", own);
    expect(first.words).toMatch(
      /MCP server "odd": .*tool "t0" is left out: inputSchema is missing.*… \(\/mcp list shows all\)/,
    );
    expect(first.words.length).toBeLessThan(700);
    expect(toolsOf(first)).toBeUndefined();
    const limited = await begin({ allowed_tools: ["glob"] }, "text Hi.", own);
    expect([limited.words, (await begin({}, "text Hi.", own)).words]).toEqual([
      "Hi.",
      "Hi.",
    ]);
  });

  describe("N2: of the operator's editor, on the same machine", () => {
    const brought = (url = editor.url) => ({
      mcp_servers: [{ name: "ctx", http: { url: `${url}/mcp` } }],
    });
    const mcp = createMcp({ operatorLoopback: true });

    it("is an MCP server at a loopback address, without a setting", async () => {
      await using own = await serve({ mcp });
      for (const host of ["127.0.0.1", "localhost"]) {
        const url = editor.url.replace("127.0.0.1", host);
        const task = await begin(brought(url), "text Hi.", own);
        expect(toolsOf(task)).toMatchObject({
          tools: expect.arrayContaining(["mcp__ctx__greet"]),
          mcpServers: [
            { name: "ctx", state: "MCP_CONNECTION_STATE_READY", toolCount: 1 },
          ],
        });
        expect(task.words).toBe("Hi.");
      }
    });

    it("N3: is in /mcp list, and its prompts are commands of its conversation", async () => {
      await using own = await serve({ mcp });
      const { contextId } = await begin(brought(), "text Hi.", own);
      const listed = await call(
        "command/execute",
        { command_path: ["mcp", "list"], contextId },
        own,
      );
      const { execution_id: id = "" } = objectOrEmpty(listed);
      await expect
        .poll(async () => lastTextOf(await call("tasks/get", { id }, own)))
        .toBe("ctx - ready, 1 tool");
      const names = async (params: JsonObject) =>
        JSON.stringify(await call("commands/get", params, own));
      expect(await names({ contextId })).toContain('"name":"ctx"');
      expect(await names({})).not.toContain('"name":"ctx"');
    });

    it.each<[string, CodingServerOptions]>([
      ["has a public URL", { publicUrl: "http://localhost:9/" }],
      ["is called by another name", { allowedHosts: ["agent.example"] }],
    ])("is refused by a server that %s", async (_name, options) => {
      await using own = await serve({ mcp, ...options });
      const task = await begin(brought(), "text Hi.", own);
      expect(task.words).toContain("may not be reached");
    });

    it.each([
      "http://0.0.0.0",
      "http://[::ffff:127.0.0.1]",
      "http://2130706433.nip.invalid",
      "http://169.254.169.254",
    ])("is refused at %s", async (host) => {
      await using own = await serve({ mcp });
      const url = `${host}:${new URL(editor.url).port}`;
      const task = await begin(brought(url), "text Hi.", own);
      expect(task.words).toMatch(/may not be reached|cannot be reached/);
    });

    it("leads to no other port of this machine", async () => {
      await using own = await serve({ mcp });
      let reached = 0;
      await using other = await serveWeb((_request, response) => {
        reached += 1;
        response.writeHead(404).end();
      });
      await using redirecting = await serveWeb((_request, response) => {
        response.writeHead(307, { location: `${other.url}/mcp` }).end();
      });
      const task = await begin(brought(redirecting.url), "text Hi.", own);
      expect(task.words).toContain("redirects");
      expect(reached).toBe(0);
    });
  });

  function serve(options: CodingServerOptions): Promise<DevtoolServer> {
    return serveCodingAgent({
      workspace,
      sandbox: "none",
      onNotice: () => undefined,
      mcp: createMcp(),
      ...options,
    });
  }

  /**
   * Begins a session with the RFC's settings. Returns its task at rest, with
   * the texts of its stream.
   */
  async function begin(
    settings: JsonObject,
    text = "text Hi.",
    at = server,
  ): Promise<Begun> {
    const message = {
      kind: "message",
      messageId: crypto.randomUUID(),
      role: "user",
      parts: [{ kind: "text", text }],
      metadata: { [EXT]: { workspace_path: workspace, ...settings } },
    };
    const stream = await send("message/stream", { message }, at);
    const frames = [...stream.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) =>
      objectOrEmpty(objectOrEmpty(JSON.parse(data)).result),
    );
    const { id = "" } = frames[0] ?? {};
    const task = await call("tasks/get", { id }, at);
    const words = frames.flatMap(({ status }) => {
      const { parts } = objectOrEmpty(objectOrEmpty(status).message);
      return listOrEmpty(parts).map((part) =>
        stringOrEmpty(objectOrEmpty(part).text),
      );
    });
    return {
      task,
      contextId: stringOrEmpty(task.contextId),
      words: words.join("|"),
    };
  }

  async function call(
    method: string,
    params: JsonObject,
    at = server,
  ): Promise<JsonObject> {
    const text = await send(method, params, at);
    return objectOrEmpty(objectOrEmpty(JSON.parse(text)).result);
  }

  async function send(
    method: string,
    params: JsonObject,
    { url, token }: DevtoolServer,
  ): Promise<string> {
    const response = await callRpc({ url, token }, method, params, {
      "x-a2a-extensions": EXT,
    });
    return response.text();
  }
});

/** The last text of a task's history. */
function lastTextOf({ history }: JsonObject): string {
  const { parts } = objectOrEmpty(listOrEmpty(history).at(-1));
  return stringOrEmpty(objectOrEmpty(listOrEmpty(parts)[0]).text);
}

function toolsOf({ task }: Begun): JsonObject | undefined {
  const own = objectOrEmpty(objectOrEmpty(task.metadata)[TASK]);
  return own.sessionTools === undefined
    ? undefined
    : objectOrEmpty(own.sessionTools);
}

/** A session that was begun. */
interface Begun {
  readonly task: JsonObject;
  readonly contextId: string;
  /** The texts of the agent and of notices, joined. */
  readonly words: string;
}

interface Web extends AsyncDisposable {
  readonly url: string;
}

async function serveWeb(listener: RequestListener): Promise<Web> {
  const web = createWeb(listener);
  web.listen(0, "127.0.0.1");
  await once(web, "listening");
  const address = web.address();
  const port = typeof address === "object" ? address?.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      web.closeAllConnections();
      web.close();
      await once(web, "close");
    },
  };
}

/** An MCP server with one tool and one prompt. */
const answerMcp: RequestListener = (request, response) => {
  void (async () => {
    const { id, method } =
      request.method === "POST" ? objectOrEmpty(await json(request)) : {};
    if (id === undefined) return void response.writeHead(202).end();
    const results: Readonly<Record<string, JsonObject>> = {
      initialize: {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {}, prompts: {} },
        serverInfo: { name: "ctx", version: "1" },
      },
      "tools/list": {
        tools: [{ name: "greet", inputSchema: { type: "object" } }],
      },
      "prompts/list": { prompts: [{ name: "review" }] },
    };
    const result = results[String(method)];
    const body = result
      ? { jsonrpc: "2.0", id, result }
      : { jsonrpc: "2.0", id, error: { code: -32601, message: "no" } };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(body));
  })();
};
