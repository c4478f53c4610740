import { expect, it } from "vitest";
import { mcpServersFrom } from "./settings.ts";

it.each([
  ["ftp://files.example/?key=s3cret", "ftp://files.example/"],
  ["https://me:s3/cret@files.example", "https://…"],
])(
  "shows no secret of the URL of an MCP server that cannot be used: %s",
  (url, shown) => {
    const agent = {
      ...{ name: "one", version: "", inputModes: [], skills: [] },
      hasExtension: true,
    };
    const server = { name: "files", type: "http", url, headers: [] };
    expect(mcpServersFrom([server], agent).problems).toEqual([
      `MCP server "files" cannot be used: its URL "${shown}" does not begin with http:// or https://. The session goes on without it.`,
    ]);
  },
);
