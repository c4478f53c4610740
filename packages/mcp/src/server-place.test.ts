import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type McpServer, McpServerSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { runnerNotice, serverPlace } from "./server-place.ts";

describe("the place of an MCP server", () => {
  it("is its command line and directory, or its address", () => {
    expect(
      serverPlace(stdio("npx", ["-y", "pkg", "/srv"], "/srv"), "operator"),
    ).toBe("npx -y pkg /srv in /srv");
    expect(serverPlace(http("https://tickets.example/mcp"), "operator")).toBe(
      "https://tickets.example/mcp",
    );
    expect(serverPlace(http("http://127.0.0.1:7000/mcp"), "client")).toBe(
      "http://127.0.0.1:7000/mcp, named by the client",
    );
  });

  it("contains no secrets", () => {
    const args = [
      "--token",
      "abc",
      "--api-key=abc",
      "postgres://user:pass@db/x?sslkey=abc",
      "ghp_0123456789abcdefghij",
    ];
    expect(serverPlace(stdio("server", args), "operator")).toBe(
      "server --token […] --api-key=[…] postgres://[…]@db/x?sslkey=[…] […]",
    );
    const url =
      "https://user:pass@host.example/s/0123456789abcdefghijklm/mcp?key=abc";
    expect(serverPlace(http(url), "operator")).toBe(
      "https://host.example/s/[…]/mcp",
    );
  });

  it("is one short line", () => {
    const shown = serverPlace(
      stdio("server", [
        "a\n? read_file Read x\n    $ ls",
        "\u{202e}b",
        "c".repeat(500),
      ]),
      "operator",
    );
    expect(shown).not.toMatch(/\n|\u{202e}/u);
    expect(shown.length).toBeLessThan(160);
  });

  it("is reported to the operator if a package runner starts in the workspace", () => {
    expect(runnerNotice(stdio("npx", ["-y", "pkg"]))).toBe(
      'MCP server "s": npx starts in the workspace, and may run a package of the repository instead of the intended one: ' +
        "set its working_directory to a directory outside of all workspaces",
    );
    expect(runnerNotice(stdio("/usr/bin/uvx", ["pkg"], "tools"))).toContain(
      "uvx starts in the workspace",
    );
    expect(runnerNotice(stdio("npx", ["-y", "pkg"], "/srv"))).toBeUndefined();
    expect(runnerNotice(stdio("/usr/bin/server", []))).toBeUndefined();
    expect(runnerNotice(http("https://tickets.example/mcp"))).toBeUndefined();
  });
});

function stdio(
  command: string,
  args: string[],
  workingDirectory = "",
): McpServer {
  return server({ case: "stdio", value: { command, args, workingDirectory } });
}

function http(url: string): McpServer {
  return server({ case: "http", value: { url } });
}

function server(
  transport: NonNullable<MessageInitShape<typeof McpServerSchema>["transport"]>,
): McpServer {
  return create(McpServerSchema, { name: "s", transport });
}
