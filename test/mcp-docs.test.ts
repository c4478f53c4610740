import { readFileSync } from "node:fs";
import { fromJsonString } from "@bufbuild/protobuf";
import { McpServerSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { serversOf } from "./mcp/servers.ts";

const text = readFileSync(new URL("../docs/mcp.md", import.meta.url), "utf8");
const snippets = [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json = ""]) => json);

describe("docs/mcp.md", () => {
  it("shows settings that can be used", async () => {
    const settings = snippets.map((json) => fromJsonString(McpServerSchema, json));
    expect(settings.map(({ transport }) => transport.case)).toEqual(["stdio", "http"]);
    await using servers = serversOf(settings).servers;
    expect(servers.status().map(({ name, state }) => [name, state])).toEqual([
      ["files", "idle"],
      ["tickets", "idle"],
    ]);
  });
});
