import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeTerminal } from "../../test/fake-terminal.ts";
import { readConfig } from "../config.ts";
import { runProgram } from "../program.ts";
import { runCommand } from "../testing/run-command.ts";

describe("devtool mcp add and list", () => {
  let data: string;
  beforeEach(() => {
    data = temporaryDirectory();
  });

  const add = (name: string, ...args: readonly string[]) =>
    runCommand(["mcp", "add", name, "--data", data, ...args]);
  const servers = async (environment: Record<string, string> = {}) =>
    (await readConfig(undefined, data, environment)).mcpServers;

  it("shows what a server runs, and writes it only with --yes", async () => {
    putFile(data, "config.toml", '[model]\nname = "scripted"');
    const command = ["--", "node", "server.js", "--root", "a b"];
    const shown = await add("files", ...command);
    expect([shown.code, shown.err]).toEqual([
      2,
      "devtool: nobody can be asked: look at it, and add --yes\n",
    ]);
    expect(shown.out).toContain("\n  node server.js --root a b\n");
    expect(shown.out).toContain('[[mcp_servers]]\nname = "files"\n');
    expect(await servers()).toEqual([]);

    expect((await add("files", "--yes", ...command)).code).toBe(0);
    const more = await add(
      "tickets",
      "--yes",
      "--url",
      "https://a.example/sse",
    );
    expect(more.code).toBe(0);
    expect(await servers()).toMatchObject([
      {
        name: "files",
        transport: {
          case: "stdio",
          value: { command: "node", args: ["server.js", "--root", "a b"] },
        },
      },
      {
        name: "tickets",
        transport: { case: "sse", value: { url: "https://a.example/sse" } },
      },
    ]);
    expect(fileText(data, "config.toml")).toMatch(
      /^\[model\]\nname = "scripted"\n/,
    );
  });

  it("writes variables in place of secrets, says which to set, and lists none", async () => {
    const url = "https://ada:pw1@a.example/mcp?api_key=s3cret-k1";
    const header = "Authorization: Bearer ghp_0123456789abcdefghij";
    const one = await add("one", "--yes", "--url", url, "--header", header);
    const env = ["--env", "LOG=debug", "--env", "TOKEN=t0ken", "--env", "OWN"];
    const two = await add("two", "--yes", ...env, "--", "npx", "-y", "pkg");
    const listed = await runCommand(["mcp", "list", "--data", data]);
    const text = fileText(data, "config.toml");
    for (const secret of ["pw1", "s3cret-k1", "ghp_", "t0ken"]) {
      expect(one.out + two.out + listed.out + text).not.toContain(secret);
    }
    expect(one.out).toContain(
      'Set the variable ONE_AUTHORIZATION where devtool runs: headers.Authorization of "one" in the command line\n',
    );
    expect(two.out).toContain("npx starts in the workspace, and may run");
    expect(listed).toEqual({
      code: 0,
      out: "one  https://a.example/mcp\ntwo  npx -y pkg\n",
      err: "",
    });
    const environment = {
      ONE_USER: "ada",
      ONE_PASSWORD: "pw",
      ONE_API_KEY: "k",
      ONE_AUTHORIZATION: "h",
      TOKEN: "t",
      OWN: "o",
    };
    expect(
      (await servers(environment)).map(({ transport }) => transport.value),
    ).toMatchObject([
      {
        url: "https://ada:pw@a.example/mcp?api_key=k",
        headers: { Authorization: "Bearer h" },
      },
      { env: { LOG: "debug", TOKEN: "t", OWN: "o" } },
    ]);
  });

  it.each([
    ["y", 0],
    ["n", 130],
  ])(
    "asks at a terminal, and keeps what is written meanwhile: %s",
    async (answer, code) => {
      const terminal = new FakeTerminal();
      const words = ["mcp", "add", "files", "--data", data, "--", "node"];
      const added = runProgram(words, terminal.io);
      await terminal.shows("Add it? [y/N] > ");
      const meanwhile = '[model]\nname = "other"\n';
      putFile(data, "config.toml", meanwhile);
      terminal.press(`${answer}\r`);
      expect(await added).toBe(code);
      const text = fileText(data, "config.toml");
      expect(text.startsWith(meanwhile)).toBe(true);
      expect(text.includes('name = "files"')).toBe(code === 0);
    },
  );

  it.each([
    [["bad name", "--url", "https://a.example"], "is not 1 to 50 letters"],
    [
      ["My-Files", "--url", "https://a.example"],
      'that of MCP server "my_files"',
    ],
    [["x"], "needs --url URL, or a command behind --"],
    [["x", "--url", "https://a.example", "--", "b"], "needs --url URL"],
    [
      ["x", "--url", "https://a.example", "--env", "A=b"],
      "a URL takes --header",
    ],
    [["x", "--header", "A: b", "--", "b"], "a command takes --env"],
    [
      ["x", "--url", "https://a.example", "--header", "s3cret"],
      "write --header",
    ],
    [["x", "--url", "nowhere"], "its url is not an address"],
    [["x", "--url", "ftp://a.example"], "no http or https URL"],
    [["x", "--", "b", "--api-key", "s3cret"], "what looks like a secret"],
  ])("does not add %j, and says why", async ([name = "", ...args], why) => {
    const before = '[[mcp_servers]]\nname = "my_files"\nstdio.command = "a"\n';
    putFile(data, "config.toml", before);
    const { code, out, err } = await add(name, "--yes", ...args);
    expect([code === 0, out]).toEqual([false, ""]);
    expect(err).toContain(why);
    expect(err).not.toContain("s3cret");
    expect(await readFile(join(data, "config.toml"), "utf8")).toBe(before);
  });

  it("says that there are none", async () => {
    expect(await runCommand(["mcp", "list", "--data", data])).toEqual({
      code: 0,
      out: "",
      err: "no MCP servers in the config file\n",
    });
  });
});
