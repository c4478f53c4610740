import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { readConfig } from "../config.ts";
import { runCommand } from "../testing/run-command.ts";

describe("devtool mcp import", () => {
  let home: string;

  beforeEach(() => {
    home = temporaryDirectory();
  });

  it("gives a shell the variables that its script names, and no others", async () => {
    putFile(
      home,
      ".claude.json",
      json({
        mcpServers: {
          tickets: {
            command: "/bin/sh",
            args: [
              "-lc",
              `cd \${HOME}; for item in a b; do echo $item; done; at=1; exec server "$BASE_URL" '$QUOTED' \\$ESCAPED $at \${LEVEL:-info} \${env:REGION}`,
            ],
            env: { LOG: "debug" },
          },
          other: { command: "server", args: ["-c", `\${NAME}`] },
        },
      }),
    );
    const { out, err } = await run();
    expect(err).toBe(
      "1 server for config.toml; 1 left out, as the comments say; set REGION, BASE_URL, LEVEL\n",
    );
    const [server] = await serversOf(out);
    expect(server?.transport.value).toMatchObject({
      env: {
        REGION: "value of REGION",
        BASE_URL: "value of BASE_URL",
        LEVEL: "value of LEVEL",
        LOG: "debug",
      },
    });
  });

  it("reads the user's files of all four programs, and what it prints can be used", async () => {
    putFile(
      home,
      ".gemini/settings.json",
      `{ // of Gemini CLI
        "theme": "dark",
        "mcpServers": {
          "tickets": { "httpUrl": "https://tickets.example/mcp", "headers": { "Authorization": "Bearer $TICKETS_TOKEN" }, "timeout": 5000, "trust": true },
        },
      }`,
    );
    putFile(
      home,
      ".claude.json",
      json({
        mcpServers: {
          github: {
            type: "stdio",
            command: "npx",
            args: ["-y", "server-github"],
            env: { GITHUB_TOKEN: "ghp_0123456789abcdefghij", LOG: "debug" },
          },
        },
        projects: {
          "/srv/shop": { mcpServers: { shop: { command: "shop" } } },
        },
      }),
    );
    putFile(
      home,
      ".config/Code/User/mcp.json",
      json({
        inputs: [
          { type: "promptString", id: "pg-url", description: "Database" },
        ],
        servers: {
          db: {
            command: "db-server",
            args: ["--root", `\${workspaceFolder}/data`],
            env: { URL: `\${input:pg-url}`, USER: `\${env:USER}` },
          },
        },
      }),
    );
    putFile(
      home,
      ".codex/config.toml",
      `[mcp_servers.docs]
url = "https://docs.example/mcp"
bearer_token_env_var = "DOCS_TOKEN"
enabled_tools = ["search"]
tool_timeout_sec = 30

[mcp_servers.off]
command = "off"
enabled = false
`,
    );
    const { code, out, err } = await run();
    expect(err).toBe(
      "4 servers for config.toml; 2 left out, as the comments say; set TICKETS_TOKEN, GITHUB_TOKEN, PG_URL, USER, DOCS_TOKEN\n",
    );
    expect(code).toBe(0);
    expect(out).not.toContain("ghp_");
    expect(comments(out)).toEqual([
      "# Set these variables where devtool runs:",
      '#   TICKETS_TOKEN: headers.Authorization of "tickets" in HOME/.gemini/settings.json',
      '#   GITHUB_TOKEN: env.GITHUB_TOKEN of "github" in HOME/.claude.json',
      '#   PG_URL: Database, env.URL of "db" in HOME/.config/Code/User/mcp.json',
      '#   USER: env.USER of "db" in HOME/.config/Code/User/mcp.json',
      '#   DOCS_TOKEN: bearer_token_env_var of "docs" in HOME/.codex/config.toml',
      '# "shop" of project /srv/shop in HOME/.claude.json is left out: a server here is for all projects',
      '# "off" of HOME/.codex/config.toml is left out: it is switched off there',
      "# From HOME/.gemini/settings.json.",
      "# Without a match here: trust.",
      "# From HOME/.claude.json.",
      "# From HOME/.config/Code/User/mcp.json.",
      "# From HOME/.codex/config.toml.",
    ]);
    expect(await serversOf(out)).toMatchObject([
      {
        name: "tickets",
        transport: {
          case: "http",
          value: {
            url: "https://tickets.example/mcp",
            headers: { Authorization: "Bearer value of TICKETS_TOKEN" },
          },
        },
        callTimeout: { seconds: 5n },
      },
      {
        name: "github",
        transport: {
          case: "stdio",
          value: {
            command: "npx",
            args: ["-y", "server-github"],
            env: { GITHUB_TOKEN: "value of GITHUB_TOKEN", LOG: "debug" },
          },
        },
      },
      {
        name: "db",
        transport: {
          case: "stdio",
          value: {
            args: ["--root", "./data"],
            env: { URL: "value of PG_URL", USER: "value of USER" },
          },
        },
      },
      {
        name: "docs",
        transport: {
          case: "http",
          value: { headers: { Authorization: "Bearer value of DOCS_TOKEN" } },
        },
        includeTools: ["search"],
        callTimeout: { seconds: 30n },
      },
    ]);
  });

  it("reads what the programs write beside a server, and says what it does not", async () => {
    putFile(
      home,
      ".gemini/settings.json",
      `\ufeff${json({
        mcp: { allowed: ["on", "out"], excluded: ["out"] },
        mcpServers: {
          on: { command: "on", type: "stdio" },
          out: { command: "out" },
          other: { command: "other" },
        },
      })}`,
    );
    putFile(
      home,
      ".config/Code/User/mcp.json",
      `{ /* of VS Code */ "servers": {
        "two words": { "type": "http", "url": "https://a.example/sse", "dev": {}, },
        "file": { "type": "stdio", "command": "f", "envFile": "\${workspaceFolder}/.env" }, // all
      } }`,
    );
    putFile(
      home,
      ".codex/config.toml",
      `[mcp_servers."dotted.name"]
command = "c"
env_vars = ["A", { name = "B", source = "local" }]

[mcp_servers.far]
command = "c"
env_vars = [{ name = "A", source = "remote" }]

[mcp_servers.number]
command = "c"
env_vars = [7]
`,
    );
    const { out } = await run();
    expect(
      comments(out).filter((line) => /left out|without a match/i.test(line)),
    ).toEqual([
      '# "out" of HOME/.gemini/settings.json is left out: it is switched off there',
      '# "other" of HOME/.gemini/settings.json is left out: it is switched off there',
      '# "far" of HOME/.codex/config.toml is left out: its env_vars has {"name":"A","source":"remote"}, which is no variable of this machine',
      '# "number" of HOME/.codex/config.toml is left out: its env_vars has 7, which is no variable of this machine',
      "# Without a match here: dev.",
      "# Without a match here: envFile.",
    ]);
    const servers = await serversOf(out);
    expect(
      servers.map(({ name, transport }) => [name, transport.case]),
    ).toEqual([
      ["on", "stdio"],
      ["two words", "http"],
      ["file", "stdio"],
      ["dotted.name", "stdio"],
    ]);
    expect(servers.at(-1)?.transport.value).toMatchObject({
      env: { A: "value of A", B: "value of B" },
    });
  });

  it("lets a server that cannot be used cost only itself, and says why", async () => {
    const file = putMcpJson({
      good: { command: "good" },
      word: "text",
      empty: {},
      socket: { type: "ws", url: "wss://a.example" },
      variable: { command: `\${HOME}/server` },
      secret: { command: "s", args: ["--api-key", "s3cret"] },
      unread: { command: "s", args: [7], env: { A: { b: 1 } } },
      place: { url: "not an address" },
      folder: { command: "s", env: { DIR: `\${workspaceFolder}/x` } },
    });
    const { code, out } = await run(file);
    expect(code).toBe(0);
    expect(comments(out)).toEqual([
      '# "word" of HOME/.mcp.json is left out: it is not an object',
      '# "empty" of HOME/.mcp.json is left out: it has no command and no url',
      '# "socket" of HOME/.mcp.json is left out: its type "ws" is not http or sse',
      `# "variable" of HOME/.mcp.json is left out: its command has the variable "\${HOME}", which devtool replaces only in env, headers and url`,
      '# "secret" of HOME/.mcp.json is left out: its args hold what looks like a secret: give it to the server in env',
      '# "unread" of HOME/.mcp.json is left out: its env.A is not a text',
      '# "place" of HOME/.mcp.json is left out: its url is not an address',
      `# "folder" of HOME/.mcp.json is left out: its env.DIR has "\${workspaceFolder}"`,
      "# From HOME/.mcp.json.",
    ]);
    expect(await serversOf(out)).toHaveLength(1);
  });

  it("prints no secret, wherever it is", async () => {
    const file = putMcpJson({
      one: {
        url: "https://ada:pass1word@a.example/mcp/abcdefghij0123456789x?api_key=s3cret-k1&region=eu",
        headers: {
          "X-Api-Key": "s3cret-k2",
          Authorization: "Basic YWRhOnBhc3M=",
          Accept: "text/plain",
        },
      },
      two: {
        command: "two",
        env: { TOKEN: "s3cret-t1", DSN: "postgres://a:pw@db/x", LEVEL: "3" },
      },
      three: { command: "three", env: { TOKEN: "s3cret-t2" } },
      four: { command: "four", env: { TOKEN: "s3cret-t1" } },
    });
    const { out, err } = await run(file);
    for (const secret of [
      "pass1word",
      "abcdefghij0",
      "s3cret-k1",
      "s3cret-k2",
      "YWRh",
      "s3cret-t1",
      "s3cret-t2",
      "pw@",
    ]) {
      expect(out + err).not.toContain(secret);
    }
    const [one, two, three, four] = await serversOf(out);
    expect(one?.transport.value).toMatchObject({
      url: "https://value of ONE_USER:value of ONE_PASSWORD@a.example/mcp/value of ONE_PATH?api_key=value of ONE_API_KEY&region=eu",
      headers: {
        "X-Api-Key": "value of ONE_X_API_KEY",
        Authorization: "Basic value of ONE_AUTHORIZATION",
        Accept: "text/plain",
      },
    });
    expect(two?.transport.value).toMatchObject({
      env: { TOKEN: "value of TOKEN", DSN: "value of DSN", LEVEL: "3" },
    });
    expect(three?.transport.value).toMatchObject({
      env: { TOKEN: "value of THREE_TOKEN" },
    });
    expect(four?.transport.value).toMatchObject({
      env: { TOKEN: "value of TOKEN" },
    });
  });

  it("prints no secret in another spelling, among words or beside a variable", async () => {
    const file = putMcpJson({
      header: {
        command: "npx",
        args: ["mcp-remote", "--header", "Authorization: Bearer ghp_aB1"],
      },
      words: { command: "sh", args: ["-c", "curl -H 'Bearer ghp_aB1'"] },
      query: { url: "https://a.example/mcp?api_key=ab%2Bcd&region=eu" },
      plus: { url: "https://a.example/mcp?api_key=ab+cd" },
      user: { url: "https://ada:p^ss@a.example/mcp" },
      hash: { url: "https://a.example/mcp#token=p^ss" },
      env: { command: "s", env: { DSN: `postgres://a:pw@\${DB_HOST}/x` } },
      line: { command: "s", env: { LINE: "Authorization: Bearer ghp_aB1" } },
      part: { url: `https://a.example/mcp?api_key=ab+cd\${REST}` },
      good: {
        command: "s",
        env: { DSN: `postgres://ada:\${DB_PW}@\${DB_HOST}/x` },
      },
      host: { url: `https://\${DB_PW}@\${DB_HOST}/mcp?key=\${DB_PW}` },
    });
    const { out, err } = await run(file);
    for (const secret of [
      "ghp_",
      "ab%2Bcd",
      "ab+cd",
      "ab cd",
      "p^ss",
      "a:pw",
    ]) {
      expect(out + err).not.toContain(secret);
    }
    expect(
      comments(out).flatMap(
        (line) => / "?(\w+)"? of .* left out/.exec(line)?.[1] ?? [],
      ),
    ).toEqual(["header", "words", "env", "part"]);
    expect(
      (await serversOf(out)).map(({ transport: { value } }) =>
        value && "url" in value ? value.url : value?.env,
      ),
    ).toEqual([
      "https://a.example/mcp?api_key=value of QUERY_API_KEY&region=eu",
      "https://a.example/mcp?api_key=value of PLUS_API_KEY",
      "https://value of USER_USER:value of USER_PASSWORD@a.example/mcp",
      "https://a.example/mcp",
      { LINE: "value of LINE" },
      { DSN: "postgres://ada:value of DB_PW@value of DB_HOST/x" },
      "https://value of DB_PW@value of DB_HOST/mcp?key=value of DB_PW",
    ]);
  });

  it("gives no server the secret of another by a shared variable", async () => {
    const one = putMcpJson({
      secret: { command: "s", env: { TOKEN: "s3cret" } },
    });
    putFile(
      home,
      "b.json",
      json({
        mcpServers: {
          other: {
            url: "https://other.example/mcp",
            headers: { Authorization: `Bearer \${TOKEN}` },
          },
        },
      }),
    );
    putFile(
      home,
      "mcp.json",
      json({
        servers: { asks: { command: "a", env: { T: `\${input:token}` } } },
      }),
    );
    const { out } = await run(
      one,
      join(home, "b.json"),
      join(home, "mcp.json"),
    );
    expect(await serversOf(out)).toMatchObject([
      { transport: { value: { env: { TOKEN: "value of SECRET_TOKEN" } } } },
      {
        transport: {
          value: { headers: { Authorization: "Bearer value of TOKEN" } },
        },
      },
      { transport: { value: { env: { T: "value of ASKS_TOKEN" } } } },
    ]);
  });

  it("takes a server that two files have alike once, and no other of its name", async () => {
    const same = { command: "same" };
    const one = putMcpJson({ same, differs: { command: "one" } });
    putFile(
      home,
      "b.json",
      json({ mcpServers: { same, differs: { command: "two" } } }),
    );
    const { out, err } = await run(one, join(home, "b.json"));
    expect(err).toBe(
      "2 servers for config.toml; 1 left out, as the comments say\n",
    );
    expect(out).toContain(
      `# "differs" of ${home}/b.json is left out: ${home}/.mcp.json has another server of that name`,
    );
  });

  it("reads nothing of the directory it starts in, and says where it looked", async () => {
    const { code, out, err } = await run();
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain(
      `${home}/.codex/config.toml: name the file that has them`,
    );
  });

  it("names a file that cannot be read, without its text", async () => {
    putFile(home, "broken.json", '{ "mcpServers": { "a": s3cret } }');
    putFile(home, "broken.toml", 'token = "s3cret');
    const { code, out, err } = await run(
      ...["broken.json", "broken.toml", "none.json"].map((name) =>
        join(home, name),
      ),
    );
    expect(code).toBe(1);
    expect(err).toBe(
      "0 servers for config.toml; 3 left out, as the comments say\n",
    );
    expect(out).not.toContain("s3cret");
    expect(comments(out)).toEqual([
      "# HOME/broken.json is left out: it is not valid JSON: InvalidSymbol in line 1",
      expect.stringMatching(
        /^# HOME\/broken.toml is left out: it is not valid TOML: /,
      ),
      "# HOME/none.json is left out: it does not exist",
    ]);
  });

  it("writes a name that acts on a terminal or ends a comment as text", async () => {
    const file = putMcpJson({
      "a\n[[agents]]\n\u001b[2J": { command: "a" },
      "b\n[x]": 1,
    });
    const { out } = await run(file);
    expect(out).not.toContain("\u001b");
    expect(await serversOf(out)).toMatchObject([
      { name: "a\n[[agents]]\n\u001b[2J" },
    ]);
  });

  it("escapes controls and what reverses text in the settings", async () => {
    const hostile = "a\u009b2J\u202eb\u{e0001}\u007f";
    const file = putMcpJson({ [hostile]: { command: hostile } });
    const { out } = await run(file);
    expect(out).not.toMatch(/[\u007f-\u009f\u202e\u{e0001}]/u);
    expect(await serversOf(out)).toMatchObject([
      { name: hostile, transport: { value: { command: hostile } } },
    ]);
  });

  it("prints what docs/mcp.md shows", async () => {
    const docs = await readFile(
      new URL("../../../../docs/mcp.md", import.meta.url),
      "utf8",
    );
    const [, given = "", shown = ""] =
      /<!-- import -->\n```json\n([\s\S]*?)```[\s\S]*?```toml\n([\s\S]*?)```/.exec(
        docs,
      ) ?? [];
    putFile(home, ".mcp.json", given);
    const { out } = await run(join(home, ".mcp.json"));
    expect(out.replaceAll(home, "/home/ada").trim()).toBe(shown.trim());
  });

  function run(...files: readonly string[]): ReturnType<typeof runCommand> {
    return runCommand(["mcp", "import", ...files], {
      env: { NO_COLOR: "1", HOME: home },
      platform: "linux",
    });
  }

  function putMcpJson(mcpServers: object): string {
    putFile(home, ".mcp.json", json({ mcpServers }));
    return join(home, ".mcp.json");
  }

  function comments(out: string): string[] {
    return out
      .replaceAll(home, "HOME")
      .split("\n")
      .filter((line) => line.startsWith("#"));
  }

  /** Reads the printed text as devtool does, with a value for each variable. */
  async function serversOf(text: string) {
    putFile(home, "data/config.toml", text);
    expect(fileText(home, "data/config.toml")).toBe(text);
    const environment = Object.fromEntries(
      [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = ""]) => [
        name,
        `value of ${name}`,
      ]),
    );
    const config = await readConfig(undefined, join(home, "data"), environment);
    return config.mcpServers;
  }
});

function json(value: object): string {
  return JSON.stringify(value);
}
