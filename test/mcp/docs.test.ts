import { readFile, rm } from "node:fs/promises";
import { fromJsonString } from "@bufbuild/protobuf";
import { readConfig } from "@devtool/cli/testing";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type McpServer, SessionSettingsSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { serversOf } from "./servers.ts";

describe("docs/mcp.md", () => {
  it("shows servers of an operator that can be used", async () => {
    const directory = temporaryDirectory();
    putFile(directory, "config.toml", await snippet("toml"));
    const { mcpServers } = await readConfig(undefined, directory, {
      TICKETS_TOKEN: "hush",
    });
    await rm(directory, { recursive: true });
    expect(mcpServers.map(({ transport }) => transport.case)).toEqual([
      "stdio",
      "http",
    ]);
    expect(await namesOf(mcpServers)).toEqual(["files", "tickets"]);
  });

  it("shows a server of a client that can be used", async () => {
    const { mcpServers } = fromJsonString(
      SessionSettingsSchema,
      await snippet("json", "### From clients"),
    );
    expect(await namesOf(mcpServers)).toEqual(["editor"]);
  });
});

/** Returns the first snippet in a language, behind a heading if one is given. */
async function snippet(language: string, heading = ""): Promise<string> {
  const text = await readFile(
    new URL("../../docs/mcp.md", import.meta.url),
    "utf8",
  );
  return (
    new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(
      text.slice(text.indexOf(heading)),
    )?.[1] ?? ""
  );
}

async function namesOf(settings: readonly McpServer[]): Promise<string[]> {
  await using servers = serversOf(settings).servers;
  return servers
    .status()
    .flatMap(({ name, state }) => (state === "idle" ? [name] : []));
}
