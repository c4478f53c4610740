import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { readConfig } from "@devtool/cli/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { parsePolicyFile } from "@devtool/policy";
import { TaskState, ToolCallStatus } from "@devtool/schema";
import { isStatusMove } from "@devtool/schema/testing";
import { describe, expect, it } from "vitest";
import { referenceText } from "../../scripts/documents/documents.ts";
import { codePathsBelow } from "../our-code.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const documents = [
  "README.md",
  "README.zh-CN.md",
  "CHANGELOG.md",
  "CODE_OF_CONDUCT.md",
  "CONTRIBUTING.md",
  "REVIEW.md",
  "SECURITY.md",
  "bench/README.md",
  "test/README.md",
  ".changeset/README.md",
  ...readmesIn("examples"),
  ...markdownIn("docs"),
  ...markdownIn("docs/adr"),
  ...readdirSync(join(root, "packages")).map(
    (name) => `packages/${name}/README.md`,
  ),
  ...readdirSync(join(root, "bindings")).map(
    (name) => `bindings/${name}/README.md`,
  ),
  ...readdirSync(join(root, "editors")).map(
    (name) => `editors/${name}/README.md`,
  ),
];

/**
 * Errors of the browser, the compiler and Node, which docs/troubleshooting.md
 * explains too.
 */
const FOREIGN_ERRORS = [
  "ExperimentalWarning: SQLite is an experimental feature",
  "npm warn install-scripts",
  "pnpm is running through Node.js",
  "TS1479",
  "Cannot find name 'HeadersInit'",
  "instanceof ConnectError",
];

/** Where the commands are named. */
const PROGRAMS = [
  "program.ts",
  "agents/agent-commands.ts",
  "server-commands.ts",
]
  .map((name) => read(`packages/cli/src/${name}`))
  .join("\n");

/** A string of the wire (`Readiness.proof`) that reads like a command. */
const WIRE_STRING = "`devtool server proof v1`";

describe("the documents", () => {
  it("link to what is there", () => {
    const links = documents.flatMap((path) =>
      [...read(path).matchAll(/\]\(([^)\s]+)\)/g)].map(([, to = ""]) => ({
        path,
        to,
      })),
    );
    const own = links.filter(({ to }) => !/^[a-z]+:/.test(to));
    expect(own.length).toBeGreaterThan(40);
    expect(own.filter(({ path, to }) => !leads(path, to))).toEqual([]);
  });

  it("have a reference with whole links, made from the protos", () => {
    const text = referenceText();
    const anchors = new Set(headings(text));
    const linked = [...text.matchAll(/\]\(#([^)]+)\)/g)].map(
      ([, to = ""]) => to,
    );
    expect(linked.length).toBeGreaterThan(100);
    expect(linked.filter((anchor) => !anchors.has(anchor))).toEqual([]);
  });

  it("are all listed in docs/README.md, where a reader begins", () => {
    const index = read("docs/README.md");
    const pages = markdownIn("docs").filter(
      (path) => path !== "docs/README.md",
    );
    expect(
      pages.filter(
        (path) => !index.includes(`](${path.slice("docs/".length)})`),
      ),
    ).toEqual([]);
  });

  it("quote errors in docs/troubleshooting.md that the code has", () => {
    const code = sourceFiles().map(read).join("\n");
    const rows = [
      ...read("docs/troubleshooting.md").matchAll(/^\| `([^`]+)`/gm),
    ].map(([, error = ""]) => error);
    const ours = rows.filter((error) => !FOREIGN_ERRORS.includes(error));
    expect(ours.length).toBeGreaterThan(10);
    const fixed = (error: string): string[] =>
      error.split(/["…]+|\d{4,}/).filter((piece) => piece.trim() !== "");
    expect(
      ours.filter(
        (error) => !fixed(error).every((piece) => code.includes(piece)),
      ),
    ).toEqual([]);
  });

  it("draw the states of tasks and calls in docs/README.md as the code moves them", () => {
    const moves = (name: string): string[][] => {
      const [, diagram = ""] =
        new RegExp(
          `<!-- diagram: ${name} -->\\n\\n?\`\`\`mermaid\\n([^\`]*)`,
        ).exec(read("docs/README.md")) ?? [];
      return [...diagram.matchAll(/^ +(\w+) --> (\w+)/gm)].map(
        ([, from = "", to = ""]) => [from, to],
      );
    };
    const statuses = [
      "PENDING",
      "EXECUTING",
      "SUCCEEDED",
      "FAILED",
      "CANCELLED",
    ] as const;
    const allowed = statuses.flatMap((from) =>
      statuses
        .filter(
          (to) =>
            from !== to &&
            isStatusMove(ToolCallStatus[from], ToolCallStatus[to]),
        )
        .map((to) => [from, to]),
    );
    expect(moves("call statuses").toSorted()).toEqual(allowed.toSorted());
    const states = Object.values(TaskState).filter(
      (name) => typeof name === "string" && name !== "UNSPECIFIED",
    );
    expect(new Set(moves("task states").flat())).toEqual(new Set(states));
  });

  it("show TOML that is read without a complaint", async () => {
    const blocks = documents.flatMap((path) =>
      [
        ...read(path).matchAll(
          /(<!-- command file.*\n)?```toml\n([\s\S]*?)```/g,
        ),
      ].map(([, command, toml = ""]) => ({
        path,
        command,
        toml,
      })),
    );
    // A test of the commands reads their files.
    const files = blocks.filter(({ command }) => command === undefined);
    expect(files.length).toBeGreaterThan(3);
    for (const { path, toml } of files) {
      await expect(readToml(toml), path).resolves.toBeUndefined();
    }
  });

  it("show JSON that is JSON", () => {
    const blocks = documents.flatMap((path) =>
      [...read(path).matchAll(/```json\n([\s\S]*?)```/g)].map(
        ([, json = ""]) => json,
      ),
    );
    expect(blocks.length).toBeGreaterThan(1);
    for (const json of blocks) expect(() => JSON.parse(json)).not.toThrow();
  });

  it("name no command or flag that does not exist", async () => {
    const known = new Set(
      [...PROGRAMS.matchAll(/command\("([a-z]+)/g)].map(([, name]) => name),
    );
    const named = documents.flatMap((path) =>
      [
        ...read(path)
          .replaceAll(WIRE_STRING, "")
          .matchAll(
            /`[^`\n]*\bdevtool ([a-z]+)\b[^`\n]*`|^(?:npx .*)?devtool ([a-z]+)\b/gm,
          ),
      ].map(([, one, other]) => ({ path, name: one ?? other })),
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ name }) => !known.has(name))).toEqual([]);
  });

  it("list each command in the README of its package", () => {
    const lists = PROGRAMS.matchAll(/\bnames: \[([^\]]+)\]/g);
    const names = [...lists].flatMap(([, list = ""]) =>
      [...list.matchAll(/"(\w+)"/g)].map(([, name = ""]) => name),
    );
    expect(names.length).toBeGreaterThan(20);
    const table = read("packages/cli/README.md").split("\n## ")[0] ?? "";
    expect(
      names.filter((name) => !RegExp(`\`(devtool )?${name}\\b`).test(table)),
    ).toEqual([]);
  });

  it("say what the tests of each folder and of each package prove", () => {
    const [folders = "", packages = ""] =
      read("test/README.md").split("## Packages");
    expect(firstCells(folders)).toEqual(testedBelow("test"));
    expect(firstCells(packages)).toEqual(testedBelow("packages"));
  });
});

/** The names in the first column of a table. */
function firstCells(text: string): string[] {
  return [...text.matchAll(/^\| `([^`]+)`/gm)].map(([, name = ""]) => name);
}

/** The directories in a directory that have tests, in order. */
function testedBelow(directory: string): string[] {
  const tests = codePathsBelow(directory).filter((path) =>
    /\.test\.tsx?$/.test(path),
  );
  return [...new Set(tests.map((path) => path.split("/")[1] ?? ""))].sort();
}

function readmesIn(directory: string): string[] {
  return readdirSync(join(root, directory), {
    recursive: true,
    encoding: "utf8",
  })
    .filter((name) => name.endsWith("README.md"))
    .map((name) => `${directory}/${name}`);
}

function markdownIn(directory: string): string[] {
  return readdirSync(join(root, directory)).flatMap((name) =>
    name.endsWith(".md") ? [`${directory}/${name}`] : [],
  );
}

/** The files of the packages that ship. */
function sourceFiles(): string[] {
  const paths = codePathsBelow("packages");
  return paths.filter(
    (path) => path.split("/")[2] === "src" && !path.endsWith(".test.ts"),
  );
}

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/**
 * Whether a link from a document leads to a file or directory, and to a heading
 * in it when it names one.
 */
function leads(path: string, to: string): boolean {
  const [file = "", anchor] = to.split("#");
  const target =
    file === "" ? path : relative(root, join(root, dirname(path), file));
  try {
    if (anchor === undefined) return isThere(target);
    return headings(read(target)).includes(anchor);
  } catch {
    return false;
  }
}

function isThere(path: string): boolean {
  const parent = readdirSync(join(root, dirname(path)));
  return (
    path === "" ||
    parent.some((name) => join(dirname(path), name) === join(path))
  );
}

/**
 * The anchors of a document's headings. Headings of equal text are numbered.
 */
function headings(text: string): string[] {
  const counts = new Map<string, number>();
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, line = ""]) => {
    const anchor = line
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
      .replaceAll(" ", "-");
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
}

/**
 * Reads a policy file or a config file, whichever it is. Rejects when it cannot
 * be used.
 */
async function readToml(toml: string): Promise<void> {
  if (toml.includes("[[rule]]")) {
    expect(
      parsePolicyFile(toml, { tier: "user", file: "policy.toml" }).length,
    ).toBeGreaterThan(0);
    return;
  }
  const directory = temporaryDirectory();
  writeFileSync(join(directory, "config.toml"), toml);
  const names = toml.match(/(?<=\$\{)\w+(?=\})/g) ?? [];
  const environment = Object.fromEntries(names.map((name) => [name, "x"]));
  await readConfig(undefined, directory, environment);
}
