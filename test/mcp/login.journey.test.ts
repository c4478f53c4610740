import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { loginStore, pipedIo, runProgram } from "@devtool/cli/testing";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { storedLogins } from "@devtool/mcp/operator";
import { McpServerSchema } from "@devtool/schema";
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  vi,
} from "vitest";
import {
  type ProtectedServer,
  startProtectedServer,
} from "./protected-server.ts";
import { serversOf } from "./servers.ts";

describe("a login at an MCP server", () => {
  let server: ProtectedServer;
  let data: string;
  let workspace: string;

  beforeAll(async () => {
    server = await startProtectedServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  beforeEach(() => {
    data = temporaryDirectory();
    workspace = temporaryDirectory();
    putFile(
      data,
      "config.toml",
      `[[mcp_servers]]\nname = "tickets"\nhttp = { url = "${server.url}" }\n`,
    );
  });

  it("is asked for in words where there is none, and asks the authorization server nothing", async () => {
    const before = server.asked.length;
    expect(await notice()).toBe(
      'MCP server "tickets": it requires a login (nobody has logged in): run devtool mcp login "tickets"',
    );
    expect(server.asked.length).toBe(before);
  });

  it("is for the agent, is renewed when it expires, and ends with a logout", async () => {
    const login = await logIn();
    expect(login.all).toContain("logged in at tickets: it has 1 tool\n");
    expect(login.code).toBe(0);
    const [file = ""] = readdirSync(join(data, "mcp-logins"));
    expect(statSync(join(data, "mcp-logins", file)).mode & 0o777).toBe(0o600);
    const { tokens } = kept();
    expect(login.all).not.toContain(tokens.access_token);
    expect((await callTool()).all).toContain("41 tickets");

    await (
      await server.provider.AccessToken.find(tokens.access_token)
    )?.destroy();
    expect((await callTool()).all).toContain("41 tickets");
    const renewed = kept().tokens;
    expect(renewed.access_token).not.toBe(tokens.access_token);
    expect(renewed.refresh_token).not.toBe(tokens.refresh_token);

    const { code, all } = await devtool(["mcp", "logout", "tickets"]);
    expect([code, all]).toEqual([0, "logged out at tickets\n"]);
    expect(readdirSync(join(data, "mcp-logins"))).toEqual([]);
    expect(
      await server.provider.RefreshToken.find(renewed.refresh_token),
    ).toBeUndefined();
    expect(await notice()).toContain("nobody has logged in");
    expect(await devtool(["mcp", "logout", "tickets"])).toMatchObject({
      code: 1,
      all: "nobody is logged in at tickets\n",
    });
  });

  it("is renewed once by three processes at a time, which all go on", async () => {
    await logIn();
    const { access_token } = kept().tokens;
    await (await server.provider.AccessToken.find(access_token))?.destroy();
    const before = server.asked.length;
    const called = await Promise.all([callTool(), callTool(), callTool()]);
    for (const { all } of called) expect(all).toContain("41 tickets");
    const renewals = server.asked
      .slice(before)
      .filter((path) => path.startsWith("/token"));
    expect(renewals).toHaveLength(1);
  });

  it("is asked for again when it cannot be renewed", async () => {
    await logIn();
    const { access_token, refresh_token } = kept().tokens;
    await (await server.provider.AccessToken.find(access_token))?.destroy();
    await (await server.provider.RefreshToken.find(refresh_token))?.destroy();
    expect(await notice()).toMatch(
      /it requires a login \(.*grant.*\): run devtool mcp login "tickets"/,
    );
  });

  it("is forgotten when its server names another issuer, and nothing of one is sent to the other", async () => {
    await using other = await startProtectedServer();
    await logIn();
    const first = kept();
    const [asked, heard] = [server.asked.length, server.heard.length];
    server.trust(other);
    try {
      const gone = `its authorization server is "${other.issuer}", and no longer "${server.issuer}`;
      expect(await notice()).toContain(gone);
      // The refused request is the last one that had the token.
      expect(await notice()).toContain("nobody has logged in");
      expect(server.heard.slice(heard)).toEqual([first.tokens.access_token]);
      expect([server.asked.slice(asked), other.asked]).toEqual([[], []]);

      await logIn(undefined, other);
      expect((await callTool()).all).toContain("41 tickets");
      const sent = new Set(server.heard.slice(heard + 1));
      expect(sent).toEqual(new Set([kept().tokens.access_token]));
      expect(kept().client.client_id).not.toBe(first.client.client_id);
      expect(other.asked.join()).not.toContain(first.client.client_id);

      // Nor by a login that nothing was refused before.
      const { client_id: id } = kept().client;
      server.trust(server);
      const before = server.asked.length;
      await logIn();
      expect(kept().client.client_id).not.toBe(id);
      expect(server.asked.slice(before).join()).not.toContain(id);
    } finally {
      server.trust(server);
    }
  });

  it("registers devtool once at an authorization server", async () => {
    await logIn();
    const { client_id } = kept().client;
    await logIn();
    expect(kept().client.client_id).toBe(client_id);
  });

  it("registers nothing where devtool has an id there", async () => {
    const registered = await fetch(`${server.issuer}/reg`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        application_type: "native",
        redirect_uris: ["http://127.0.0.1/callback"],
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"],
      }),
    });
    const { client_id: id } = Object(await registered.json());
    const before = server.asked.length;
    const { all } = await logIn(undefined, server, ["--client-id", id]);
    expect(kept().client.client_id, all).toBe(id);
    expect(server.asked.slice(before)).not.toContain("/reg");
  });

  it("names the document of its metadata where the issuer reads such", async () => {
    const document = "https://devtool.example/client.json";
    const before = server.asked.length;
    let named: string | null = null;
    const refusing = {
      agree: async (page: string) => {
        const { searchParams } = new URL(page);
        named = searchParams.get("client_id");
        const answer = new URL(searchParams.get("redirect_uri") ?? "");
        for (const [name, value] of [
          ["error", "access_denied"],
          ["state", searchParams.get("state") ?? ""],
          ["iss", server.issuer],
        ] as const) {
          answer.searchParams.set(name, value);
        }
        return answer;
      },
    };
    const flags = ["--client-id", document];
    const { code, all } = await logIn(undefined, refusing, flags);
    expect([code, named]).toEqual([1, document]);
    expect(all).toContain("access_denied");
    expect(server.asked.slice(before)).not.toContain("/reg");
  });

  it("takes only its own answer", async () => {
    const { code } = await logIn(async (answer) => {
      for (const [name, value] of [
        ["state", "another"],
        ["path", "/other"],
      ] as const) {
        const forged = new URL(answer);
        if (name === "path") {
          forged.pathname = value;
        } else {
          forged.searchParams.set(name, value);
        }
        expect((await fetch(forged)).status).toBe(400);
      }
      return answer;
    });
    expect(code).toBe(0);
  });

  it.each([
    [
      "of another issuer (RFC 9207)",
      "iss",
      "https://evil.example",
      "Issuer mismatch",
    ],
    ["without an issuer", "iss", "", "Issuer mismatch"],
    ["with another code", "code", "other", "grant"],
  ])(
    "fails with an answer %s, and keeps nothing",
    async (_what, name, value, why) => {
      const { code, all } = await logIn(async (answer) => {
        const changed = new URL(answer);
        changed.searchParams.delete(name);
        if (value !== "") changed.searchParams.set(name, value);
        return changed;
      });
      expect(code).toBe(1);
      expect(all).toContain(why);
      expect(() => kept()).toThrow("ENOENT");
    },
  );

  it("says what cannot log in", async () => {
    putFile(
      data,
      "config.toml",
      `[[mcp_servers]]
name = "program"
stdio = { command = "program" }

[[mcp_servers]]
name = "key"
http = { url = "${server.url}", headers = { Authorization = "Bearer k" } }
`,
    );
    for (const [name, why] of [
      ["program", 'MCP server "program" is a program: it logs in by itself'],
      [
        "key",
        'MCP server "key" has an Authorization header in its settings: remove the header to log in',
      ],
      [
        "other",
        'there is no MCP server "other" in the configuration: choose program, key',
      ],
    ] as const) {
      const { code, all } = await devtool(["mcp", "login", name]);
      expect(code).toBe(1);
      expect(all).toContain(why);
    }
  });

  /** Logs in; `comesBack` may change the address to which the user is sent. */
  async function logIn(
    comesBack: (answer: URL) => Promise<URL> = async (answer) => answer,
    issuer: Pick<ProtectedServer, "agree"> = server,
    flags: readonly string[] = [],
  ): ReturnType<typeof devtool> {
    const argv = ["mcp", "login", "tickets", "--no-open", ...flags];
    return devtool(argv, async (said) => {
      const address = await vi.waitFor(
        () => {
          const found = /^ {2}(http\S+)$/m.exec(said())?.[1];
          if (found === undefined) throw new Error("there is no page");
          return found;
        },
        { timeout: 60_000, interval: 20 },
      );
      await fetch(await comesBack(await issuer.agree(address)));
    });
  }

  function callTool(): ReturnType<typeof devtool> {
    return devtool([
      "run",
      "--approve",
      "all",
      "--workspace",
      workspace,
      "call mcp__tickets__count {}",
    ]);
  }

  /** What the agent says when it wants the tools of its servers. */
  async function notice(): Promise<string> {
    const settings = create(McpServerSchema, {
      name: "tickets",
      transport: { case: "http", value: { url: server.url } },
    });
    const { servers, notices } = serversOf([settings], {
      authorizationOf: storedLogins(loginStore(data)),
    });
    await using _servers = servers;
    await servers.tools(AbortSignal.timeout(60_000));
    return notices.join("\n");
  }

  async function devtool(
    argv: readonly string[],
    meanwhile: (said: () => string) => Promise<void> = async () => undefined,
  ): Promise<{ readonly code: number; readonly all: string }> {
    const { io, out, err } = pipedIo({
      env: { NO_COLOR: "1", PATH: process.env.PATH, DEVTOOL_DATA: data },
    });
    const said = (): string => out() + err();
    const running = runProgram(argv, io);
    await meanwhile(said);
    const code = await running;
    return { code, all: said() };
  }

  interface Kept {
    readonly client: { readonly client_id: string };
    readonly tokens: {
      readonly access_token: string;
      readonly refresh_token: string;
    };
  }

  function kept(): Kept {
    const directory = join(data, "mcp-logins");
    const [file = ""] = readdirSync(directory);
    return JSON.parse(readFileSync(join(directory, file), "utf8"));
  }
});
