import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import type { McpServers } from "@devtool/mcp/testing";
import { McpServerSchema } from "@devtool/schema";
import {
  createMcpHandler,
  InMemoryServerEventBus,
  McpServer,
} from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { SteadyAddress } from "../steady-address.ts";
import { pass } from "./protected-server.ts";
import {
  nodeServer,
  play,
  serverProgram,
  serversOf,
  textOf,
  toolNamed,
} from "./servers.ts";

const PROGRAM = fileURLToPath(new URL("subscribed-server.ts", import.meta.url));
const signal = AbortSignal.timeout(300_000);

describe("a resource that was read", () => {
  it("is shown as changed once its server says so, until it is read again (2026)", async () => {
    const { servers } = serversOf([
      nodeServer("notes", ["--experimental-transform-types", PROGRAM]),
    ]);
    await using _servers = servers;
    const touch = async (uri: string) =>
      textOf(
        await play(
          toolNamed(await servers.tools(signal), "touch"),
          { uri },
          signal,
        ),
      );
    await touch("note:a");
    expect(await described(servers)).not.toContain("changed");
    await read(servers, "notes", "note:a");
    await read(servers, "notes", "note:b");
    await touch("note:c");
    await touch("note:b");
    await expect
      .poll(() => described(servers))
      .toContain("- notes: note:b (changed since you read it, read before)");
    expect(await described(servers)).toContain("- notes: note:a (a)");
    await touch("note:a");
    await expect
      .poll(() => described(servers))
      .toContain("- notes: note:a (changed since you read it, a)");
    await read(servers, "notes", "note:a");
    expect(await described(servers)).toContain("- notes: note:a (a)");
    expect(await described(servers)).not.toContain("note:c");
  });

  it("is changed when it changes while it is read again", async () => {
    const { servers } = serversOf([
      nodeServer("notes", ["--experimental-transform-types", PROGRAM]),
    ]);
    await using _servers = servers;
    const changed = "- notes: note:busy (changed since you read it";
    await read(servers, "notes", "note:busy");
    const touch = toolNamed(await servers.tools(signal), "touch");
    await expect
      .poll(async () => {
        await play(touch, { uri: "note:busy" }, signal);
        return described(servers);
      })
      .toContain(changed);
    await read(servers, "notes", "note:busy");
    expect(await described(servers)).toContain(changed);
  });

  it("is subscribed to at servers before 2026-07-28", async () => {
    const { servers } = serversOf([
      nodeServer("everything", [serverProgram("server-everything"), "stdio"]),
    ]);
    await using _servers = servers;
    const uri = "demo://resource/dynamic/text/1";
    await read(servers, "everything", uri);
    const toggle = toolNamed(
      await servers.tools(signal),
      "toggle-subscriber-updates",
    );
    await play(toggle, {}, signal);
    await expect
      .poll(() => described(servers), { timeout: 30_000 })
      .toContain(`- everything: ${uri} (changed since you read it`);
  });
});

describe.each(["2025", "2026"])(
  "a resource that was read before its server was started again (%s)",
  (era) => {
    it("may have changed, and its changes are heard of again", async () => {
      const { servers } = serversOf([
        nodeServer("notes", ["--experimental-transform-types", PROGRAM, era]),
      ]);
      await using _servers = servers;
      const call = async (tool: string, args = {}) =>
        play(toolNamed(await servers.tools(signal), tool), args, signal);
      await read(servers, "notes", "note:a");
      await read(servers, "notes", "note:b");
      await call("__stop");
      const after = await described(servers);
      for (const name of ["a", "read before"]) {
        expect(after).toContain(
          `(may have changed since you read it, ${name})`,
        );
      }
      await read(servers, "notes", "note:a");
      expect(await described(servers)).toContain("- notes: note:a (a)");
      for (const uri of ["note:a", "note:b"]) {
        await expect
          .poll(async () => {
            await call("__touch", { uri });
            return described(servers);
          })
          .toContain(`- notes: ${uri} (changed since you read it`);
      }
    });
  },
);

describe("a stream of changes that is lost with its server (2026, HTTP)", () => {
  it("is opened again, and nothing counts as unchanged meanwhile", async () => {
    await using address = await SteadyAddress.open();
    const tools = ["one"];
    await using first = await serveNotes(tools);
    address.lead(first.url);
    const { servers } = serversOf([
      create(McpServerSchema, {
        name: "notes",
        transport: { case: "http", value: { url: `${address.url}/mcp` } },
      }),
    ]);
    await using _servers = servers;
    const names = async () =>
      (await servers.tools(signal)).map(({ declaration: { name } }) => name);
    expect(await names()).toContain("mcp__notes__one");
    await read(servers, "notes", "note:a");
    await expect.poll(() => first.bus.listenerCount).toBe(2);
    // The client hears by now, and not the server alone.
    first.bus.publish({ kind: "resource_updated", uri: "note:a" });
    await expect.poll(() => described(servers)).toContain("changed since");
    await read(servers, "notes", "note:a");

    const held = Promise.withResolvers<void>();
    await using second = await serveNotes(tools, held.promise, {
      text: "Another note.",
    });
    address.lead(second.url);
    tools.push("two");
    await expect.poll(names).toContain("mcp__notes__two");
    expect(await described(servers)).toContain(
      "- notes: note:a (may have changed since you read it, a)",
    );
    held.resolve();
    await expect.poll(() => second.bus.listenerCount).toBe(1);

    expect(await read(servers, "notes", "note:a")).toContain("Another note.");
    expect(await described(servers)).toContain("- notes: note:a (a)");
    second.bus.publish({ kind: "resource_updated", uri: "note:a" });
    await expect
      .poll(() => described(servers))
      .toContain("- notes: note:a (changed since you read it, a)");
    tools.push("three");
    second.bus.publish({ kind: "tools_list_changed" });
    await expect.poll(names).toContain("mcp__notes__three");
    // One for each stream that was lost, however often lists were needed.
    expect(second.listens()).toBeLessThanOrEqual(2);
  });
});

/** How long a client may keep what it gets, in milliseconds. */
const HINT = { ttlMs: 3_600_000, cacheScope: "private" } as const;

/**
 * Serves a note and tools without parameters over HTTP, without sessions.
 * Streams of changes are opened after `held`.
 */
async function serveNotes(
  tools: readonly string[],
  held?: Promise<void>,
  note = { text: "A note." },
) {
  const bus = new InMemoryServerEventBus();
  let listens = 0;
  const handler = createMcpHandler(
    () => {
      const mcp = new McpServer(
        { name: "notes", version: "1" },
        {
          capabilities: { resources: { subscribe: true } },
          // What a client keeps counts no more once its stream is lost.
          cacheHints: {
            "tools/list": HINT,
            "resources/list": HINT,
            "resources/read": HINT,
          },
        },
      );
      for (const name of tools) {
        mcp.registerTool(name, {}, () => ({ content: [] }));
      }
      mcp.registerResource("a", "note:a", {}, () => ({
        contents: [{ uri: "note:a", text: note.text }],
      }));
      return mcp;
    },
    { bus, legacy: "reject" },
  );
  const server = createServer((request, response) => {
    const handle = async (asked: Request): Promise<Response> => {
      if (asked.headers.get("mcp-method") === "subscriptions/listen") {
        listens++;
        await held;
      }
      return handler.fetch(asked);
    };
    // A connection that is cut ends its response.
    pass(request, response, handle).catch(() => undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    bus,
    listens: () => listens,
    url: `http://127.0.0.1:${Object(server.address()).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await handler.close();
    },
  };
}

async function described(servers: McpServers): Promise<string> {
  const tool = toolNamed(await servers.tools(signal), "read_mcp_resource");
  return tool.declaration.description;
}

async function read(
  servers: McpServers,
  server: string,
  uri: string,
): Promise<string> {
  const tool = toolNamed(await servers.tools(signal), "read_mcp_resource");
  return textOf(await play(tool, { server, uri }, signal));
}
