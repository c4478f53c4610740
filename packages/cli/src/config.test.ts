import { chmod, chown } from "node:fs/promises";
import { join } from "node:path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ApprovalMode } from "@devtool/schema";
import { ClientMcpServers, SandboxKind } from "@devtool/schema/operator";
import { beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "./config.ts";

describe("the config file", () => {
  let directory: string;
  beforeAll(() => {
    directory = temporaryDirectory();
  });

  it("may be missing, unless it is named", async () => {
    expect((await readConfig(undefined, directory)).mcpServers).toEqual([]);
    await expect(
      readConfig(join(directory, "none.toml"), directory),
    ).rejects.toThrow("none.toml");
  });

  it("is read with short names of enum values", async () => {
    const config = await read(`
      approval_mode = "auto_edit"
      sandbox = "bwrap"
      client_mcp_servers = "none"
      [model]
      name = "gemini-2.5-pro"
      [[mcp_servers]]
      name = "files"
      stdio = { command = "npx", args = ["-y", "files"], env = { KEY = "value" } }
      [[mcp_servers]]
      name = "wiki"
      http = { url = "https://wiki.example/mcp" }
      call_timeout = "5s"
    `);
    expect(config).toMatchObject({
      approvalMode: ApprovalMode.AUTO_EDIT,
      sandbox: SandboxKind.BWRAP,
      clientMcpServers: ClientMcpServers.NONE,
      model: { name: "gemini-2.5-pro" },
    });
    expect(
      config.mcpServers.map(
        ({ name, transport }) => `${name} ${transport.case}`,
      ),
    ).toEqual(["files stdio", "wiki http"]);
  });

  it("is refused with its name and what is wrong", async () => {
    await expect(read("approval_mode = 'all'")).rejects.toThrow(
      /config\.toml" cannot be used: \w+ "all" is unknown: choose default, plan, auto_edit, yolo/,
    );
    await expect(read("approvals = 'all'")).rejects.toThrow(
      /config\.toml" cannot be used: .*approvals/,
    );
    await expect(read("[[mcp_servers]")).rejects.toThrow(
      /config\.toml" cannot be used/,
    );
  });

  it("is refused without the secrets that a table or a list may hold", async () => {
    const named = "[mcp_servers.files]\nenv = { TOKEN = 'hush' }";
    await expect(read(named)).rejects.toThrow(
      /cannot be used: mcp_servers must be a list of objects$/,
    );
    await expect(read("public_url = ['hush']")).rejects.toThrow(
      /cannot be used: public_url must be a string$/,
    );
  });

  it("is refused with the place of a mistake in its grammar, and not with the text, which may hold a secret", async () => {
    for (const [text, problem] of [
      [
        "[[mcp_servers]]\nenv = { KEY = sk-123 }",
        "2, column 15: invalid value",
      ],
      ['env = "sk-123', "1, column 7: unfinished string"],
      ['env = "sk-123" x', "1, column 16: each key-value declaration"],
      ["env = 123sk-123", "1, column 10: illegal character in numeric"],
      // U9: the end of the line is what the parser means.
      [
        'host = "sk-123\nport = 1',
        "1, column 15: control characters are not allowed in strings (is the quote missing that ends the string?)",
      ],
      ["sk-123 = { a = 1, = }", "1, column 19: unexpected end of key"],
    ] as const) {
      const error = await read(text).catch(String);
      expect(error).toContain(
        `config.toml" cannot be used: it is not valid TOML: line ${problem}`,
      );
      expect(error).not.toContain("sk-123");
    }
  });

  it("has variables of the operator's environment in [[mcp_servers]], where only these servers see them", async () => {
    const { mcpServers } = await read(
      `[[mcp_servers]]
name = "a"
http = { url = 'https://\${HOST}/mcp', headers = { Authorization = 'Bearer \${TOKEN}' } }
[[mcp_servers]]
name = "b"
stdio = { command = "sh", args = ['-c', 'echo \${KEY}'], env = { KEY = '\${TOKEN}\${TOKEN}', MONEY = 'pa$$word{}$' } }`,
      // A value is not read again for variables.
      { HOST: "x.example", TOKEN: `$1\${HOST}` },
    );
    expect(mcpServers.map(({ transport }) => transport.value)).toMatchObject([
      {
        url: "https://x.example/mcp",
        headers: { Authorization: `Bearer $1\${HOST}` },
      },
      {
        args: ["-c", `echo \${KEY}`],
        env: { KEY: `$1\${HOST}$1\${HOST}`, MONEY: "pa$$word{}$" },
      },
    ]);
  });

  it.each([
    [`http = { url = 'https://\${NONE}/' }`, "http.url", "which is not set"],
    [`sse = { url = 'https://\${NONE}/' }`, "sse.url", "which is not set"],
    ...["http", "sse"].map((kind) => [
      `${kind} = { url = 'https://x/', headers = { X-Key = 'a\${NONE}' } }`,
      `${kind}.headers.X-Key`,
      "which is not set",
    ]),
    [
      `stdio = { command = "sh", env = { KEY = '\${KEY}\${NONE}' } }`,
      "stdio.env.KEY",
      "which is not set",
    ],
    ...["command", "working_directory"].map((field) => [
      `stdio = { ${field === "command" ? "" : 'command = "sh", '}${field} = '\${KEY}' }`,
      `stdio.${field}`,
      "and variables are replaced only in env, headers and url of mcp_servers",
    ]),
    [
      `http = { url = 'https://x/', headers = { X-Key = '\${KEY:-hush}' } }`,
      "http.headers.X-Key",
      "with more than a name",
    ],
    [
      `stdio = { command = "sh", env = { KEY = '\${env:KEY}' } }`,
      "stdio.env.KEY",
      "with more than a name",
    ],
    [
      `stdio = { command = "sh", args = ['--key', '\${KEY}'] }`,
      "stdio.args",
      "and variables are replaced only in env, headers and url of mcp_servers",
    ],
  ])(
    "N14: is refused with a variable that is not set, or stands elsewhere: %s",
    async (settings, place, problem) => {
      const text = `[[mcp_servers]]\nname = "a"\n${settings}`;
      const error = await read(text, { KEY: "sesame" }).catch(String);
      expect(error).toMatch(
        new RegExp(
          `mcp_servers\\.${place} has the variable "\\$\\{\\w+\\}",? ${problem}`,
        ),
      );
      expect(error).not.toMatch(/hush|sesame/);
    },
  );

  it("is refused when others may change it", async () => {
    putFile(directory, "open.toml", "");
    await chmod(join(directory, "open.toml"), 0o666);
    await expect(
      readConfig(join(directory, "open.toml"), directory),
    ).rejects.toThrow("may be changed by others");
  });

  it.skipIf(process.getuid?.() !== 0)(
    "is refused when it belongs to another user",
    async () => {
      putFile(directory, "theirs.toml", "");
      await chown(join(directory, "theirs.toml"), 65_534, 65_534);
      await expect(
        readConfig(join(directory, "theirs.toml"), directory),
      ).rejects.toThrow("belongs to another user");
    },
  );

  async function read(text: string, environment = {}) {
    putFile(directory, "config.toml", text);
    return readConfig(undefined, directory, environment);
  }
});
