import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { type McpServer, McpServerSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { McpPool, type McpPoolOptions } from "./mcp-pool.ts";

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

  it("are those that the operator gives to the caller, by principal or by a role of then", async () => {
    const to = (name: string, who: Partial<McpServer>) => ({
      ...serverWith(5000, "operator"),
      name,
      ...who,
    });
    const ada = "https://login.example#ada";
    await using pool = createPool([
      to("all", {}),
      to("ada", { principals: [ada] }),
      to("ops", { roles: ["ops"], principals: ["local"] }),
    ]);
    const namesOf = async (principal: string, roles?: readonly string[]) => {
      const session = { principal, workspacePath: "/w", clientServers: [] };
      const found = await pool.get({ ...session, roles });
      return found?.status().map(({ name }) => name);
    };
    expect(await namesOf(ada)).toEqual(["all", "ada"]);
    expect(await namesOf(ada, ["ops"])).toEqual(["all", "ada", "ops"]);
    // The role has ended.
    expect(await namesOf(ada)).toEqual(["all", "ada"]);
    expect(await namesOf("local")).toEqual(["all", "ops"]);
    // A tenant is chosen by its caller.
    expect(await namesOf(`tenant:t:${ada}`)).toEqual(["all", "ada"]);
    for (const [principal, roles] of [
      [`${ada}2`, []],
      ["ops", []],
      ["https://login.example#Ada", []],
      [`x509:${encodeURIComponent(ada)}#x`, []],
      [`tenant:${encodeURIComponent(`a:${ada}`)}:x`, []],
      ["x", [ada, "local", "Ops", "ops "]],
    ] as const) {
      expect(await namesOf(principal, roles)).toEqual(["all"]);
    }
  });

  it("do not show a caller which names the operator's other servers have", async () => {
    const ops = { ...serverWith(5000, "operator"), name: "ops" };
    await using pool = createPool([{ ...ops, roles: ["ops"] }]);
    const session = { principal: "p", workspacePath: "/w" };
    const statusOf = async (name: string, roles: readonly string[] = []) => {
      const brought = [{ ...serverWith(5000, "client"), name }];
      const status = await pool.status(
        { ...session, roles, clientServers: brought },
        AbortSignal.timeout(60_000),
      );
      return status.map((each) => ({
        ...each,
        name: each.name.replace(name, "NAME"),
        reason: each.reason?.replace(name, "NAME"),
      }));
    };
    const [taken, free] = [await statusOf("ops"), await statusOf("none")];
    // Both were called, at the address of the client.
    expect(taken).toEqual([
      expect.objectContaining({ name: "NAME", state: "failed" }),
    ]);
    expect(taken).toEqual(free);
    expect((await statusOf("ops", ["ops"])).at(-1)?.reason).toMatch(
      "the operator has one of that name",
    );
  });

  it("get a login of the operator's only if they are the operator's", async () => {
    const asked: string[] = [];
    await using pool = createPool(
      [
        { ...serverWith(5000, "a"), name: "own" },
        { ...serverWith(5000, "a"), name: "ops", roles: ["ops"] },
      ],
      ({ name }) => {
        asked.push(name);
        return undefined;
      },
    );
    const clientServers = ["brought", "ops"].map((name) => ({
      ...serverWith(5000, "a"),
      name,
    }));
    const session = { principal: "p", workspacePath: "/w", clientServers };
    await pool.status(session, AbortSignal.timeout(60_000));
    expect(new Set(asked)).toEqual(new Set(["own"]));
  });

  it("stay while they are used, however many others are, and are ended afterwards", async () => {
    await using pool = createPool([]);
    const get = (name: string) => pool.get(sessionOf(name));
    const useOthers = async () => {
      for (let other = 0; other < 40; other++) await get(`other-${other}`);
    };
    const used = await get("used");
    const held = await pool.hold(sessionOf("used"));
    await useOthers();
    expect(await get("used")).toBe(used);
    await held[Symbol.asyncDispose]();
    await useOthers();
    expect(await get("used")).not.toBe(used);
  });

  it("are waited for while others are used, as long as it takes", async () => {
    let isThere = false;
    const refused = Promise.withResolvers<void>();
    await using pool = createPool([], undefined, async (_url, init) => {
      if (!isThere) {
        refused.resolve();
        throw new TypeError("fetch failed");
      }
      const { id, method } = JSON.parse(String(init?.body));
      if (id === undefined) return new Response(null, { status: 202 });
      const result = {
        protocolVersion: "2025-06-18",
        capabilities: {},
        serverInfo: { name: "s", version: "1" },
      };
      return Response.json({
        jsonrpc: "2.0",
        id,
        ...(method === "initialize"
          ? { result }
          : { error: { code: -32601, message: "no" } }),
      });
    });
    const waiting = pool.waitFor(
      sessionOf("awaited"),
      "awaited",
      AbortSignal.timeout(60_000),
    );
    await refused.promise;
    for (let at = 0; at < 40; at++) await pool.get(sessionOf(`other-${at}`));
    isThere = true;
    await waiting;
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

function createPool(
  servers: readonly McpServer[],
  authorizationOf?: McpPoolOptions["authorizationOf"],
  clientFetch: ReturnType<McpPoolOptions["clientFetch"]> = fetch,
): McpPool {
  return new McpPool({
    servers,
    authorizationOf,
    environment: {},
    clientInfo: { name: "test", version: "1" },
    now: () => 0,
    onNotice: () => undefined,
    clientFetch: () => clientFetch,
  });
}

/** A session with a server of its client. */
function sessionOf(name: string) {
  const clientServers = [{ ...serverWith(5000, "a"), name }];
  return { principal: "p", workspacePath: "/w", clientServers };
}

function serverWith(timeoutMs: number, authorization: string): McpServer {
  const value = { url: "http://127.0.0.1:1/mcp", headers: { authorization } };
  return create(McpServerSchema, {
    name: "s",
    transport: { case: "http", value },
    callTimeout: durationFromMs(timeoutMs),
  });
}
