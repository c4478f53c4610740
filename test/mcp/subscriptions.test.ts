import { fileURLToPath } from "node:url";
import type { McpServers } from "@devtool/mcp/testing";
import { describe, expect, it } from "vitest";
import {
  nodeServer,
  play,
  serverProgram,
  serversOf,
  textOf,
  toolNamed,
} from "./servers.ts";

const PROGRAM = fileURLToPath(new URL("subscribed-server.ts", import.meta.url));
const signal = AbortSignal.timeout(60_000);

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
  }, 60_000);
});

async function described(servers: McpServers): Promise<string> {
  const tool = toolNamed(await servers.tools(signal), "read_mcp_resource");
  return tool.declaration.description;
}

async function read(
  servers: McpServers,
  server: string,
  uri: string,
): Promise<void> {
  const tool = toolNamed(await servers.tools(signal), "read_mcp_resource");
  await play(tool, { server, uri }, signal);
}
