import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { commandWords } from "@devtool/acp/profiles";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
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
      "\n  env PAINT_UPDATE=0 npx -y @acme/paint@1.2.3 --acp 'a b'\n",
    );
    await expect(readFile(join(data, "config.toml"))).rejects.toThrow("ENOENT");

    expect((await add("paint", "--yes")).code).toBe(0);
    expect((await add("snake", "--yes", "--name", "python")).code).toBe(0);
    const { agents } = await readConfig(undefined, data, {});
    expect(agents.map(({ name, module }) => [name, module])).toEqual([
      ["", "devtool"],
      ["paint", "acp:env PAINT_UPDATE=0 npx -y @acme/paint@1.2.3 --acp 'a b'"],
      ["python", "acp:uvx snake-agent==2.0.1 acp"],
    ]);
    const listed = await runCommand(["agents", "list", "--data", data]);
    expect(listed.out).toContain("python  acp:uvx snake-agent==2.0.1 acp\n");
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

  it.each([
    ["blob", "no hash"],
    ["newest", "names no exact version"],
    ["tagged", "names no exact version"],
    ["range", "names no exact version"],
    ["flag", "names no exact version"],
    ["loader", 'the variable "npm_config_registry"'],
    ["hidden", "cannot be seen"],
    ["nobody", "is not in the registry"],
  ])("does not add %s, and says why", async (id, why) => {
    const { code, err } = await add(id, "--yes");
    expect([code, err]).toEqual([2, expect.stringContaining(why)]);
    await expect(readFile(join(data, "config.toml"))).rejects.toThrow("ENOENT");
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
      response.end(JSON.stringify(REGISTRY));
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const list = (place: string) =>
      runCommand(["agents", "list", "--registry", place]);
    const here = await list(`http://127.0.0.1:${port}/registry.json`);
    server.close();
    expect([here.code, requests]).toEqual([0, ["/registry.json"]]);
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
