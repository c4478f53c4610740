import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { McpServerSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { serverHash } from "./server-hash.ts";

type Transport = NonNullable<
  MessageInitShape<typeof McpServerSchema>["transport"]
>;

describe("the hash of where an MCP server is", () => {
  const http: Transport = {
    case: "http",
    value: {
      url: "https://notes.example/mcp",
      headers: { authorization: "a" },
    },
  };
  const stdio: Transport = {
    case: "stdio",
    value: { command: "npx", args: ["notes"], env: { TOKEN: "a" } },
  };

  it.each<[string, Transport, Transport]>([
    ["URL", http, { case: "http", value: { url: "https://evil.example/mcp" } }],
    [
      "query",
      http,
      { case: "http", value: { url: "https://notes.example/mcp?to=evil" } },
    ],
    [
      "protocol",
      http,
      { case: "sse", value: { url: "https://notes.example/mcp" } },
    ],
    [
      "command",
      stdio,
      { case: "stdio", value: { command: "./npx", args: ["notes"] } },
    ],
    [
      "arguments",
      stdio,
      { case: "stdio", value: { command: "npx", args: ["evil"] } },
    ],
    [
      "directory",
      stdio,
      {
        case: "stdio",
        value: { command: "npx", args: ["notes"], workingDirectory: "evil" },
      },
    ],
    [
      "words of a command",
      stdio,
      { case: "stdio", value: { command: "npx notes" } },
    ],
  ])("differs for another %s", (_name, one, other) => {
    expect(hashOf(one)).not.toBe(hashOf(other));
  });

  it("does not depend on name, tokens and timeout", () => {
    expect(hashOf(stdio)).toBe(
      hashOf({
        case: "stdio",
        value: { command: "npx", args: ["notes"], env: { TOKEN: "b" } },
      }),
    );
    expect(hashOf(http)).toBe(
      hashOf({ case: "http", value: { url: "https://notes.example/mcp" } }),
    );
  });

  function hashOf(transport: Transport): string {
    return serverHash(create(McpServerSchema, { name: "notes", transport }));
  }
});
