import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type Breach, breachesOf, type SourceFile } from "./architecture/rules.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

describe("the house", () => {
  it("is built as docs/architecture.md says", () => {
    const files = sourceFiles();
    expect(files.length).toBeGreaterThan(80);
    expect(breachesOf(files)).toEqual([]);
  });

  const breaches: readonly { readonly what: string; readonly file: SourceFile; readonly rule: Breach["rule"] }[] = [
    {
      what: "a stage that imports one above it",
      file: file("task/x.ts", 'import { a } from "../handler/task-handler.ts";'),
      rule: "stage order",
    },
    {
      what: "a seam that imports an implementation",
      file: file("store/task-store.ts", 'import { a } from "./memory-task-store.ts";'),
      rule: "seam",
    },
    { what: "an SDK outside its folder", file: file("agent/x.ts", 'import { a } from "@google/genai";'), rule: "SDK" },
    { what: "the clock below the entry", file: file("task/x.ts", "const now = Date.now();"), rule: "ambient" },
    {
      what: "the environment below the entry",
      file: file("tool/x.ts", "const home = process.env.HOME;"),
      rule: "ambient",
    },
    { what: "words of the wire inside", file: file("task/x.ts", 'const kind = "status-update";'), rule: "wire words" },
    { what: "a file without a name of its own", file: file("task/utils.ts", ""), rule: "junk room" },
    {
      what: "a client that imports the server",
      file: { path: "packages/client/src/x.ts", text: 'import { a } from "@devtool/server";' },
      rule: "packages",
    },
    {
      what: "a server that imports the client",
      file: file("handler/x.ts", 'import { a } from "@devtool/client";'),
      rule: "packages",
    },
    { what: "the clock beside the entry", file: file("server-options.ts", "const now = Date.now();"), rule: "ambient" },
    {
      what: "a schema that needs Node",
      file: { path: "packages/schema/src/x.ts", text: 'import { a } from "node:fs";' },
      rule: "packages",
    },
  ];
  for (const { what, file: broken, rule } of breaches) {
    it(`would not stand ${what}`, () => {
      expect(breachesOf([broken]).map((breach) => breach.rule)).toContain(rule);
    });
  }

  it("would not stand two files that import each other", () => {
    const one = file("task/one.ts", 'import { b } from "./two.ts";');
    const two = file("task/two.ts", 'import { a } from "./one.ts";');
    expect(breachesOf([one, two]).map(({ rule }) => rule)).toContain("cycle");
  });
});

function file(path: string, text: string): SourceFile {
  return { path: posix.join("packages/server/src", path), text };
}

function sourceFiles(): SourceFile[] {
  const packages = readdirSync(join(root, "packages"));
  return packages.flatMap((name) => filesBelow(join(root, "packages", name, "src")));
}

function filesBelow(directory: string): SourceFile[] {
  const entries = readdirSync(directory, { withFileTypes: true, recursive: true });
  const code = entries.filter(
    (entry) => entry.isFile() && /\.ts$/.test(entry.name) && !/\.(test|contract)\.ts$/.test(entry.name),
  );
  const paths = code
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !dirname(path).includes("/gen"));
  return paths.map((path) => ({ path: relative(root, path), text: readFileSync(path, "utf8") }));
}
