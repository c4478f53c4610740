import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { type McpServer, McpServerSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { McpPool } from "./mcp-pool.ts";

describe("the MCP servers of sessions", () => {
  it("are shared by sessions with the same settings, including call timeouts and headers, and by no others", async () => {
    await using pool = createPool([]);
    const get = (server: McpServer, principal = "p") =>
      pool.get({ principal, workspacePath: "/w", clientServers: [server] });
    const first = await get(serverWith(5000, "a"));
    expect(await get(serverWith(5000, "a"))).toBe(first);
    expect(await get(serverWith(6000, "a"))).not.toBe(first);
    expect(await get(serverWith(5000, "b"))).not.toBe(first);
    expect(await get(serverWith(5000, "a"), "q")).not.toBe(first);
  });

  it("are the operator's if a client's has the same name", async () => {
    await using pool = createPool([serverWith(5000, "operator")]);
    const session = { principal: "p", workspacePath: "/w" };
    const own = await pool.get({ ...session, clientServers: [] });
    expect(own?.status()).toHaveLength(1);
    expect(
      await pool.get({
        ...session,
        clientServers: [serverWith(5000, "client")],
      }),
    ).toBe(own);
  });

  it("are undefined if neither the operator nor a client names any", async () => {
    await using pool = createPool([]);
    expect(
      await pool.get({
        principal: "p",
        workspacePath: "/w",
        clientServers: [],
      }),
    ).toBeUndefined();
  });
});

function createPool(servers: readonly McpServer[]): McpPool {
  return new McpPool({
    servers,
    environment: {},
    clientInfo: { name: "test", version: "1" },
    now: () => 0,
    onNotice: () => undefined,
    clientFetch: () => fetch,
  });
}

function serverWith(timeoutMs: number, authorization: string): McpServer {
  const value = { url: "http://127.0.0.1:1/mcp", headers: { authorization } };
  return create(McpServerSchema, {
    name: "s",
    transport: { case: "http", value },
    callTimeout: durationFromMs(timeoutMs),
  });
}
