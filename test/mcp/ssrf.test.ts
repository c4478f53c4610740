import { once } from "node:events";
import { createServer as createWeb, type RequestListener } from "node:http";
import { json } from "node:stream/consumers";
import { streamMessage, textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";

const METADATA = "http://169.254.169.254/latest/meta-data";

describe("an MCP server that a client brings (S7)", () => {
  let workspace: string;
  let web: Web;
  let notices: string[];
  beforeEach(async () => {
    workspace = temporaryDirectory();
    web = await serveWeb(answerMcp);
    notices = [];
  });
  afterEach(() => web[Symbol.asyncDispose]());

  it.each(["http", "sse"] as const)(
    "is not reached on this machine or in its network, over %s",
    async (way) => {
      const port = new URL(web.url).port;
      for (const host of [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "2130706433",
      ]) {
        await say([], `http://${host}:${port}/mcp`, way);
        expect(notices.at(-1), host).toMatch(
          /may not be reached|cannot be reached/,
        );
      }
      expect(notices[0]).toContain(
        `the operator allows it with mcp_targets = ["127.0.0.1:${port}"]`,
      );
      await say([], METADATA, way);
      expect(notices.at(-1)).toContain("is not public");
      expect(web.requests).toEqual([]);
    },
  );

  it("is reached where the operator allows it, with its headers, and gives its tools", async () => {
    const said = await say([new URL(web.url).host], `${web.url}/mcp`, "http");
    expect(notices).toEqual([]);
    expect(said).toContain("mcp__brought__greet");
    expect(web.requests.length).toBeGreaterThan(1);
  });

  it("leads nowhere else by a redirect", async () => {
    await using other = await serveWeb(answerMcp);
    await using redirecting = await serveWeb((_request, response) => {
      response.writeHead(307, { location: `${other.url}/mcp` }).end();
    });
    await say(["127.0.0.1:*"], `${redirecting.url}/mcp`, "http");
    expect(redirecting.requests.length).toBeGreaterThan(0);
    expect(other.requests).toEqual([]);
    expect(notices.at(-1)).toContain(
      "redirects: use the URL that it redirects to",
    );
  });

  it("is never this server itself", async () => {
    await say(["127.0.0.1:*"], "OWN/mcp", "http");
    expect(notices.at(-1)).toContain("is this server");
  });

  async function say(
    targets: readonly string[],
    url: string,
    way: "http" | "sse",
  ): Promise<string> {
    const onNotice = (text: string): void => void notices.push(text);
    await using server = await serveCodingAgent({
      workspace,
      sandbox: "none",
      onNotice,
      mcp: createMcp({ targets }),
    });
    const client = clientOf(server);
    const transport = {
      case: way,
      value: {
        url: url.replace("OWN", server.url),
        headers: { "x-mine": "1" },
      },
    };
    const sessionSettings = { mcpServers: [{ name: "brought", transport }] };
    const message = textMessage(crypto.randomUUID(), "call no_such_tool {}");
    let said = "";
    for await (const event of streamMessage(
      client,
      { message, sessionSettings },
      AbortSignal.timeout(60_000),
    )) {
      if (
        event.payload.case === "toolCall" &&
        event.payload.value.result.case === "error"
      ) {
        said += event.payload.value.result.value.message;
      }
    }
    return said;
  }
});

interface Web extends AsyncDisposable {
  readonly url: string;
  /** The requests that came. */
  readonly requests: readonly string[];
}

async function serveWeb(answer: RequestListener): Promise<Web> {
  const requests: string[] = [];
  const server = createWeb((request, response) => {
    requests.push(`${request.method} ${request.headers["x-mine"]}`);
    answer(request, response);
  }).listen(0);
  await once(server, "listening");
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/**
 * The least that an MCP server has to say: its tools in a stream of events, the
 * rest as JSON.
 */
const answerMcp: RequestListener = async (request, response) => {
  if (request.method !== "POST") return void response.writeHead(405).end();
  const { id, method, params } = Object(await json(request));
  if (id === undefined) return void response.writeHead(202).end();
  const version = {
    protocolVersion: params?.protocolVersion,
    capabilities: { tools: {} },
  };
  const tool = {
    name: "greet",
    description: "Greets.",
    inputSchema: { type: "object" },
  };
  const results = new Map<unknown, unknown>([
    [
      "initialize",
      { ...version, serverInfo: { name: "brought", version: "1" } },
    ],
    ["tools/list", { tools: [tool] }],
  ]);
  const result = results.get(method);
  const answer = {
    jsonrpc: "2.0",
    id,
    ...(result ? { result } : { error: { code: -32601, message: "unknown" } }),
  };
  if (method !== "tools/list") {
    return void response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify(answer));
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(`event: message\ndata: ${JSON.stringify(answer)}\n\n`);
};
