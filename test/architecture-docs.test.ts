import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { breachesOf } from "./architecture/rules.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = `${root}packages/server/src/`;
const text = readFileSync(`${root}docs/architecture.md`, "utf8");

describe("docs/architecture.md", () => {
  it("names every package", () => {
    const rows = [...text.matchAll(/^\| `@devtool\/([\w-]+)`/gm)].map(([, name]) => name);
    expect(rows.toSorted()).toEqual(readdirSync(`${root}packages`).toSorted());
  });

  it("shows every folder of the server, and no other", () => {
    const [, tree = ""] = /```\npackages\/server\/src\/\n([\s\S]*?)```/.exec(text) ?? [];
    const shown = foldersOf(tree);
    const real = readdirSync(source, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry.name, ...below(entry.name)] : [],
    );
    const rooms = [...(/^Rooms that later work.*$/m.exec(text)?.[0] ?? "").matchAll(/`([\w/]+)`/g)].map(
      ([, name]) => name,
    );
    expect(shown.toSorted()).toEqual(real.filter((name) => !rooms.includes(name)).toSorted());
  });

  it("has the import order that is checked", () => {
    const [, order = ""] = /^`(server → .*) → @devtool\/schema`$/m.exec(text) ?? [];
    const stages = order.split(" → ").map((stage) => stage.split(", "));
    expect(stages.length).toBeGreaterThan(10);
    for (const [index, stage] of stages.entries()) {
      for (const right of stages[index + 1] ?? []) {
        for (const left of stage) {
          expect(rulesBroken(left, right), `${left} may import ${right}`).not.toContain("stage order");
          expect(rulesBroken(right, left), `${right} may not import ${left}`).toContain("stage order");
        }
      }
    }
  });

  it("shows the members of seams as they are", () => {
    const [, block = ""] = /## Seams\n\n```ts\n([\s\S]*?)```/.exec(text) ?? [];
    const files = filesBelow(source).map((path) => readFileSync(path, "utf8"));
    const real = new Set(files.flatMap(membersOf));
    const shown = membersOf(block).filter((member) => !member.includes("…"));
    expect(shown.length).toBeGreaterThan(25);
    expect(shown.filter((member) => !real.has(member))).toEqual([]);
  });

  it("is right that a server starts without what only some tasks or callers need", () => {
    const loaded = loadedBy("server.ts");
    const folders = new Set([...loaded].map((path) => posix.dirname(path)));
    expect(folders).toContain("handler");
    const later = [
      "transport/coder_agent",
      "transport/connect",
      "agent/gemini",
      "tool/mcp",
      "tool/policy",
      "tool/policy/shell",
      "tool/sandbox",
      "tool/builtin",
    ];
    expect(later.filter((folder) => folders.has(folder))).toEqual([]);
    expect(
      [...loaded].filter((path) => /^(@google|@modelcontextprotocol|smol-toml|unbash|web-tree)/.test(path)),
    ).toEqual([]);
    const callers = ["push/push-notifier.ts", "transport/a2a_v03/routes.ts", "transport/a2a_v1/routes.ts", "jose"];
    expect(callers.filter((path) => loaded.has(path))).toEqual([]);
    expect(loadedBy("assembly/agents.ts")).toContain("tool/policy/rule-policy.ts");
    expect([...loadedBy("assembly/dialects.ts")]).toEqual(expect.arrayContaining(callers.slice(1, 3)));
  });

  it("names files that exist", () => {
    const files = [...text.matchAll(/(?<![\w>-])([\w./-]+\.ts)\b/g)].map(([, path = ""]) => path);
    expect(files.length).toBeGreaterThan(10);
    const real = ["packages", "test"].flatMap((directory) =>
      readdirSync(root + directory, { recursive: true, encoding: "utf8" }),
    );
    const paths = real.map((path) => `/${path}`).filter((path) => !path.includes("node_modules"));
    const missing = files.filter(
      (file) => !paths.some((path) => path.endsWith(file.replace(/^(packages|test)?\/?/, "/"))),
    );
    expect(missing).toEqual([]);
  });
});

/** What a file of the server loads at once, with all that those load; types cost nothing. */
function loadedBy(start: string): ReadonlySet<string> {
  const loaded = new Set<string>();
  const open = [start];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (loaded.has(path)) continue;
    loaded.add(path);
    const folder = posix.dirname(path);
    const code = path.endsWith(".ts") ? readFileSync(source + path, "utf8") : "";
    for (const [, names = "", from = ""] of code.matchAll(/^(?:import|export) (?!type )([^;]*?) from "([^"]+)"/gm)) {
      const onlyTypes = /^\{(\s*type [^,}]+,?)+\s*\}$/.test(names);
      if (!onlyTypes) open.push(from.startsWith(".") ? posix.join(folder, from) : from);
    }
  }
  return loaded;
}

function filesBelow(directory: string): string[] {
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" });
  return names.flatMap((name) => (/(?<!\.test)\.ts$/.test(name) ? [directory + name] : []));
}

/** The members and headings of the interfaces in a piece of code, without comments. */
function membersOf(code: string): string[] {
  const plain = code.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "").replaceAll(/\bexport /g, "");
  const pieces = plain.split(/[;{}]/).map((piece) => piece.replaceAll(/\s+/g, " ").trim());
  return pieces.filter((piece) => /^interface |^(readonly )?\w+\??[:(]/.test(piece));
}

/** The folders in a drawn tree, each with that above it; two deep at most. */
function foldersOf(tree: string): string[] {
  let above = "";
  return tree.split("\n").flatMap((line) => {
    const [, indent = "", name] = /^([│ ]*)[├└]── ([\w_]+)\/ /.exec(line) ?? [];
    if (name === undefined) return [];
    if (indent !== "") return [`${above}/${name}`];
    above = name;
    return [name];
  });
}

function below(folder: string): string[] {
  const entries = readdirSync(source + folder, { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? [`${folder}/${entry.name}`] : []));
}

/** What the checker says of a file of one stage that imports one of another. */
function rulesBroken(from: string, to: string): string[] {
  const path = from === "server" ? "server.ts" : from === "errors" ? "errors.ts" : `${from}/x.ts`;
  const target = to === "server" || to === "errors" ? `${to}.ts` : `${to}/y.ts`;
  const way = path.includes("/") ? `../${target}` : `./${target}`;
  return breachesOf([{ path: `packages/server/src/${path}`, text: `import { a } from "${way}";` }]).map(
    ({ rule }) => rule,
  );
}
