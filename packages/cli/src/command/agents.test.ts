import { execFile } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { commandWords } from "@devtool/acp/profiles";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { commandLine } from "../agents/acp-registry.ts";
import { readConfig } from "../config.ts";
import { runCommand } from "../testing/run-command.ts";

/** An agent as the registry has it. */
function entry(id: string, distribution: object, more: object = {}): object {
  return {
    id,
    name: `The ${id}`,
    version: "1.2.3",
    description: `An agent named ${id}.`,
    repository: `https://code.example/${id}`,
    authors: ["Ada", "Bob"],
    license: "MIT",
    icon: "icon.svg",
    distribution,
    ...more,
  };
}

const REGISTRY = {
  version: "1.0.0",
  extensions: [],
  agents: [
    entry("paint", {
      npx: {
        package: "@acme/paint@1.2.3",
        args: ["--acp", "a b"],
        env: { PAINT_UPDATE: "0" },
      },
    }),
    entry("snake", { uvx: { package: "snake-agent==2.0.1", args: ["acp"] } }),
    entry("blob", {
      binary: {
        "linux-x86_64": { archive: "https://x.example/a.tgz", cmd: "./a" },
      },
    }),
    entry("newest", { npx: { package: "newest" } }),
    entry("tagged", { npx: { package: "tagged@latest" } }),
    entry("range", { npx: { package: "range@^1.2.3" } }),
    entry("flag", {
      npx: { package: "--registry=https://evil.example@1.2.3" },
    }),
    entry("loader", {
      npx: { package: "a@1.2.3", env: { npm_config_registry: "https://evil" } },
    }),
    entry("proxied", { uvx: { package: "a@1.2", env: { HTTPS_proxy: "x" } } }),
    entry("hidden", { npx: { package: "a@1.2.3", args: ["x\u202ey"] } }),
  ],
};

describe("devtool agents", () => {
  let data: string;
  let registry: string;
  beforeEach(async () => {
    data = temporaryDirectory();
    registry = join(temporaryDirectory(), "registry.json");
    await writeFile(registry, JSON.stringify(REGISTRY));
  });

  /** The beginning of each command that is written. */
  const start = () => `sh -c 'cd "$0" && exec "$@"' ${join(data, "agents")}`;

  const add = (...args: readonly string[]) =>
    runCommand([
      "agents",
      "add",
      ...args,
      "--data",
      data,
      "--registry",
      registry,
    ]);

  it("lists the agents of a registry, and which of them can be added", async () => {
    const { code, out } = await runCommand([
      "agents",
      "list",
      "--registry",
      registry,
    ]);
    expect(code).toBe(0);
    const lines = out.trim().split("\n");
    expect(lines).toHaveLength(REGISTRY.agents.length);
    expect(lines[0]).toBe(
      "paint  1.2.3  The paint  An agent named paint.  (npm: @acme/paint@1.2.3)",
    );
    expect(lines[1]).toContain("(PyPI: snake-agent==2.0.1)");
    for (const line of lines.slice(2)) {
      expect(line).toMatch(/\(cannot be added\)$/);
    }
  });

  it("shows all that an agent is and runs, and writes it only with --yes", async () => {
    const shown = await add("paint");
    expect(shown.code).toBe(2);
    expect(shown.err).toContain("look at it, and add --yes");
    expect(shown.out).toContain("repository:   https://code.example/paint");
    expect(shown.out).toContain("authors:      Ada, Bob");
    expect(shown.out).toContain(
      `\n  ${start()} env PAINT_UPDATE=0 npx -y @acme/paint@1.2.3 --acp 'a b'\n`,
    );
    await expect(readFile(join(data, "config.toml"))).rejects.toThrow("ENOENT");

    expect((await add("paint", "--yes")).code).toBe(0);
    expect((await add("snake", "--yes", "--name", "python")).code).toBe(0);
    const { agents } = await readConfig(undefined, data, {});
    expect(agents.map(({ name, module }) => [name, module])).toEqual([
      ["", "devtool"],
      [
        "paint",
        `acp:${start()} env PAINT_UPDATE=0 npx -y @acme/paint@1.2.3 --acp 'a b'`,
      ],
      ["python", `acp:${start()} uvx snake-agent==2.0.1 acp`],
    ]);
    const listed = await runCommand(["agents", "list", "--data", data]);
    expect(listed.out).toContain(" uvx snake-agent==2.0.1 acp\n");
  });

  it("takes no name that an agent of the file has, or nearly", async () => {
    const before = '[[agents]]\nname = "Paint"\nmodule = "gemini"';
    await writeFile(join(data, "config.toml"), before, { mode: 0o600 });
    const { code, err } = await add("paint", "--yes");
    expect(code).toBe(2);
    expect(err).toContain('is that of agent "Paint"');
    expect(await readFile(join(data, "config.toml"), "utf8")).toBe(before);
    expect((await add("paint", "--yes", "--name", "other")).code).toBe(0);
    const { agents } = await readConfig(undefined, data, {});
    expect(agents.map(({ name }) => name)).toEqual(["Paint", "other"]);
  });

  it("writes the file that config.toml links to", async () => {
    const kept = join(temporaryDirectory(), "kept.toml");
    await writeFile(kept, "# Mine.\n", { mode: 0o600 });
    await symlink(kept, join(data, "config.toml"));
    expect((await add("paint", "--yes")).code).toBe(0);
    expect(await readFile(kept, "utf8")).toMatch(/^# Mine.\n(.|\n)*"paint"/);
    expect((await readConfig(undefined, data, {})).agents).toHaveLength(2);
  });

  it.each([
    ["blob", "no hash"],
    ["newest", "names no exact version"],
    ["tagged", "names no exact version"],
    ["range", "names no exact version"],
    ["flag", "names no exact version"],
    ["loader", 'the variable "npm_config_registry"'],
    ["proxied", 'the variable "HTTPS_proxy"'],
    ["hidden", "cannot be seen"],
    ["nobody", "is not in the registry"],
  ])("does not add %s, and says why", async (id, why) => {
    const { code, err } = await add(id, "--yes");
    expect([code, err]).toEqual([2, expect.stringContaining(why)]);
    await expect(readFile(join(data, "config.toml"))).rejects.toThrow("ENOENT");
  });

  it.each([
    ...["1.2.3.4", "1.2.3_x", "1.2.3.latest", "01.2.3", "1.2.3-01"].map(
      (version) => [version, "npx", 2] as const,
    ),
    ...["1.2.3-rc.1", "10.0.0-x-1.0a+b.01"].map(
      (version) => [version, "npx", 0] as const,
    ),
    ...["1.2.latest", "1.2_3", "1.2-1", "1.x", "01"].map(
      (version) => [version, "uvx", 2] as const,
    ),
    ...["1", "1!2.0rc1.post2.dev3+deb.1"].map(
      (version) => [version, "uvx", 0] as const,
    ),
  ])(
    "takes the exact versions alone: %s of %s",
    async (version, runner, code) => {
      const agents = [entry("one", { [runner]: { package: `a@${version}` } })];
      await writeFile(registry, JSON.stringify({ agents }));
      const { code: found, err } = await add("one", "--yes");
      expect(found, err).toBe(code);
    },
  );

  it.each([
    ..."NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED SSL_CERT_FILE".split(
      " ",
    ),
    ..."ALL_PROXY no_proxy XDG_CONFIG_HOME GIT_SSH_COMMAND BASH_ENV".split(" "),
    ..."LD_PRELOAD PYTHONPATH UV_INDEX npm_config_prefix PATH".split(" "),
  ])("lets no entry set %s", async (variable) => {
    const env = { [variable]: "x" };
    const agents = [entry("one", { npx: { package: "a@1.2.3", env } })];
    await writeFile(registry, JSON.stringify({ agents }));
    expect((await add("one", "--yes")).err).toContain(`"${variable}"`);
  });

  it("writes a command that runs nothing of the repository where it starts", async () => {
    /** Installs the package, and what else `npx` could run, in a directory. */
    const install = async (directory: string, says: string): Promise<void> => {
      const at = (name: string): string => join(directory, name);
      const script = `#!/bin/sh\necho ${says} "$@"\n`;
      const { name, version } = { name: "@acme/paint", version: "1.2.3" };
      await mkdir(at("node_modules/@acme/paint"), { recursive: true });
      await mkdir(at("node_modules/.bin"));
      const files = {
        "node_modules/@acme/paint/package.json": JSON.stringify({
          ...{ name, version, bin: { paint: "paint.js" } },
        }),
        "node_modules/@acme/paint/paint.js": `#!/usr/bin/env node\nconsole.log("${says}", ...process.argv.slice(2));\n`,
      };
      for (const [path, text] of Object.entries(files)) {
        await writeFile(at(path), text, { mode: 0o700 });
      }
      await symlink("../@acme/paint/paint.js", at("node_modules/.bin/paint"));
      if (says === "own") return;
      for (const path of ["node_modules/.bin/sh", "node_modules/.bin/node"]) {
        await writeFile(at(path), script, { mode: 0o700 });
      }
      await writeFile(at("shell"), script, { mode: 0o700 });
      await writeFile(at(".npmrc"), `script-shell=${at("shell")}\n`);
    };
    const workspace = temporaryDirectory();
    await install(workspace, "planted");
    expect((await add("paint", "--yes")).code).toBe(0);
    const { agents } = await readConfig(undefined, data, {});
    const [, module = ""] = agents.map((agent) => agent.module);
    const [program = "", ...args] = commandWords(module.replace("acp:", ""));
    const run = () =>
      promisify(execFile)(program, args, {
        cwd: workspace,
        env: { PATH: process.env.PATH, HOME: data, npm_config_offline: "true" },
      });
    await expect(run()).rejects.toThrow("ENOTCACHED");
    await install(join(data, "agents"), "own");
    expect((await run()).stdout).toBe("own --acp a b\n");
  });

  it("leaves out the entry that it cannot read, and takes the others", async () => {
    const agents = [
      { id: "Bad Id" },
      7,
      entry("odd", { npx: { package: 5 } }),
      ...REGISTRY.agents.slice(0, 1),
      entry("paint", {}),
    ];
    await writeFile(registry, JSON.stringify({ agents }));
    const { code, out, err } = await runCommand([
      "agents",
      "list",
      "--registry",
      registry,
    ]);
    expect(code).toBe(1);
    expect(out.trim().split("\n")).toHaveLength(1);
    expect(err.trim().split("\n")).toHaveLength(4);
    expect(err).toContain('"paint" is left out: another agent has its id');
  });

  it("reads a registry at a URL that the user names, and refuses plain http elsewhere", async () => {
    const requests: unknown[] = [];
    const server = createServer((request, response) => {
      requests.push(request.url);
      if (request.url === "/moved") {
        response.writeHead(302, { location: "/registry.json" });
      }
      response.end(JSON.stringify(REGISTRY));
    });
    onTestFinished(() => void server.close());
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const list = (place: string) =>
      runCommand(["agents", "list", "--registry", place]);
    const here = await list(`http://127.0.0.1:${port}/registry.json`);
    expect([here.code, requests]).toEqual([0, ["/registry.json"]]);
    const moved = await list(`http://127.0.0.1:${port}/moved`);
    expect(moved.err).toContain("name the address that it redirects to");
    expect(requests).toEqual(["/registry.json", "/moved"]);
    const plain = await list("http://registry.example/registry.json");
    expect(plain.err).toContain("use https");
    await writeFile(registry, "{}");
    expect((await list(registry)).err).toContain('no list "agents"');
  });

  it("writes words that are split into the same ones", () => {
    const words = ["npx", "it's", 'a "b"', "$HOME `x`", "\\", "", "é", "a=b"];
    expect(commandWords(commandLine(words))).toEqual(words);
  });
});
