import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { codePathsBelow } from "../our-code.ts";
import { breachesOf, type SourceFile } from "./architecture/breaches.ts";
import { idOf, publicNames, usedNames } from "./architecture/public-names.ts";

const TRANSPORT = "server/src/transport";
const root = fileURLToPath(new URL("../..", import.meta.url));

describe("the house", () => {
  it("is built as docs/architecture.md says", () => {
    const files = sourceFiles();
    expect(files.length).toBeGreaterThan(80);
    expect(breachesOf(files)).toEqual([]);
  });

  it.each([
    ["stage order", "server/src/task/x.ts", from("../handler/task-handler.ts")],
    ["stage order", "policy/src/shell/x.ts", from("../compiled-rule.ts")],
    ["stage order", "coding-agent/src/tool/x.ts", from("../command/steps.ts")],
    ["seam", "server/src/store/task-store.ts", from("./memory-task-store.ts")],
    ["dialects", `${TRANSPORT}/gemini-cli/x.ts`, from("../a2a-v03/frames.ts")],
    ["dialects", `${TRANSPORT}/http/x.ts`, from("../a2a-v1/frames.ts")],
    ["dialect names", `${TRANSPORT}/a2a.ts`, late("../../handler/caller.ts")],
    [
      "dialect names",
      `${TRANSPORT}/a2a-v03/x.ts`,
      late("../../handler/caller.ts"),
    ],
    [
      "dialect names",
      `${TRANSPORT}/connect/x.ts`,
      late("../../handler/caller.ts"),
    ],
    [
      "dialect names",
      `${TRANSPORT}/ag-ui/x.ts`,
      late("../../handler/caller.ts"),
    ],
    ["packages", "server/src/assembly/x.ts", late("@devtool/coding-agent")],
    ["packages", "server/src/assembly/x.ts", late("@devtool/console")],
    ["packages", "server/src/handler/x.ts", from("@devtool/client")],
    [
      "packages",
      "server/src/handler/x.ts",
      from("../../../coding-agent/src/tool/tool.ts"),
    ],
    [
      "packages",
      "coding-agent/src/tool/x.ts",
      from("@devtool/server/operator"),
    ],
    ["packages", "coding-agent/src/assembly/x.ts", late("@devtool/gemini")],
    ["packages", "coding-agent/src/assembly/x.ts", late("@devtool/mcp")],
    ["packages", "policy/src/x.ts", from("@devtool/coding-agent")],
    ["packages", "policy/src/x.ts", from("@devtool/server/agent")],
    ["packages", "sandbox/src/x.ts", from("@devtool/policy")],
    ["packages", "sandbox/src/x.ts", from("@devtool/schema")],
    ["packages", "mcp/src/x.ts", from("@devtool/coding-agent")],
    ["packages", "gemini/src/x.ts", from("@devtool/coding-agent")],
    ["packages", "postgres/src/x.ts", from("@devtool/server/agent")],
    ["packages", "client/src/x.ts", from("@devtool/server")],
    ["packages", "react/src/x.ts", from("react-dom/client")],
    ["packages", "schema/src/x.ts", from("node:fs")],
    ["SDK", "coding-agent/src/agent/x.ts", late("@google/genai")],
    ["SDK", "coding-agent/src/tool/x.ts", from("@modelcontextprotocol/client")],
    ["SDK", "gemini/src/x.ts", from("@modelcontextprotocol/client")],
    ["SDK", "server/src/assembly/x.ts", late("pg")],
    ["ambient", "server/src/task/x.ts", "const now = Date.now();"],
    ["ambient", "server/src/server-options.ts", "const now = Date.now();"],
    ["ambient", "coding-agent/src/tool/x.ts", "const a = process.env.HOME;"],
    ["ambient", "sandbox/src/x.ts", "const a = process.env.HOME;"],
    ["system", "server/src/task/x.ts", 'readFileSync("/proc/self/status");'],
    ["system", "acp/src/agent/x.ts", 'process.kill(-pid, "SIGKILL");'],
    ["system", "mcp/src/x.ts", "spawn(command, { detached: true });"],
    ["system", "cli/src/x.ts", 'process.kill(pid, "SIGCONT");'],
    ["system", "cli/src/x.ts", "path.startsWith(`$" + "{options.root}/`);"],
    ["system", "sandbox/src/x.ts", 'path.split(":");'],
    ["wire words", "server/src/task/x.ts", 'const kind = "status-update";'],
    ["junk room", "server/src/task/utils.ts", ""],
  ])("%s: packages/%s may not have %j", (rule, path, text) => {
    const broken = { path: `packages/${path}`, text };
    expect(breachesOf([broken]).map((breach) => breach.rule)).toContain(rule);
  });

  it("is imported by its entries: no file imports those of another package by their paths", () => {
    const files = [
      ...codeBelow("test"),
      ...codeBelow("scripts"),
      ...codeBelow("packages"),
      ...codeBelow("editors"),
    ];
    expect(files.length).toBeGreaterThan(500);
    expect(files.flatMap(pathsInto)).toEqual([]);
  });

  it("rejects a test that imports a file of a package by its path", () => {
    const text =
      'import { a } from "../packages/server/src/store/task-store.ts";';
    expect(pathsInto({ path: "test/x.test.ts", text })).toEqual([
      "test/x.test.ts: packages/server/src/store/task-store.ts",
    ]);
    expect(
      pathsInto({
        path: "packages/cli/test/x.ts",
        text: 'import { a } from "../../server/src/x.ts";',
      }),
    ).toHaveLength(1);
    expect(
      pathsInto({
        path: "packages/cli/test/x.ts",
        text: 'import { a } from "../src/x.ts";',
      }),
    ).toEqual([]);
  });

  it("rejects a dialect that imports a name which others do not have", () => {
    const dialect = file(
      "transport/a2a-v1/x.ts",
      'import { readBody, secret } from "../http/body.ts";',
    );
    const entry = (names: string): SourceFile =>
      file(
        "dialect.ts",
        `export { ${names} } from "./transport/http/body.ts";`,
      );
    const rules = (names: string) =>
      breachesOf([dialect, entry(names)]).map(({ rule }) => rule);
    expect(rules("readBody")).toEqual(["dialect names"]);
    expect(rules("readBody, secret")).toEqual([]);
  });

  it("exports what somebody uses, and few names", () => {
    const names = publicNames();
    const used = usedNames(names);
    expect(names.map(idOf).filter((id) => !used.has(id))).toEqual([]);
    const countOf = (isGenerated: boolean): number =>
      new Set(
        names
          .filter((each) => each.isGenerated === isGenerated)
          .map(({ entry, name }) => `${entry.split("/")[1]}#${name}`),
      ).size;
    expect(countOf(false)).toBeLessThanOrEqual(487);
    // Messages, their schemas, enums and services: what the protos name.
    expect(countOf(true)).toBeLessThanOrEqual(287);
  });

  it("rejects two files that import each other", () => {
    const one = file("task/one.ts", 'import { b } from "./two.ts";');
    const two = file("task/two.ts", 'import { a } from "./one.ts";');
    expect(breachesOf([one, two]).map(({ rule }) => rule)).toContain("cycle");
  });
});

/** The files of other packages that a file imports by their paths. */
function pathsInto({ path, text }: SourceFile): string[] {
  const specifiers = [
    ...text.matchAll(/^(?:import|export)[^"';]* from "(\.[^"]+)"/gm),
  ].map(([, specifier = ""]) => specifier);
  const targets = specifiers.map((specifier) =>
    posix.join(posix.dirname(path), specifier),
  );
  const packageOf = (one: string): string =>
    /^packages\/[^/]+\//.exec(one)?.[0] ?? "";
  return targets
    .filter(
      (target) =>
        packageOf(target) !== "" && packageOf(target) !== packageOf(path),
    )
    .map((target) => `${path}: ${target}`);
}

/**
 * All TypeScript below a folder of the repository that is not installed, built
 * or generated.
 */
function codeBelow(directory: string): SourceFile[] {
  return codePathsBelow(directory).map((path) => ({
    path,
    text: readFileSync(join(root, path), "utf8"),
  }));
}

function file(path: string, text: string): SourceFile {
  return { path: posix.join("packages/server/src", path), text };
}

function from(specifier: string): string {
  return `import { a } from "${specifier}";`;
}

function late(specifier: string): string {
  return `const { a } = await import("${specifier}");`;
}

function sourceFiles(): SourceFile[] {
  const packages = readdirSync(join(root, "packages"));
  const files = [
    ...packages.flatMap((name) => codeBelow(`packages/${name}/src`)),
    ...codeBelow("editors/vscode/src"),
  ];
  return files.filter(({ path }) => !/\.(test|contract)\.ts$/.test(path));
}
