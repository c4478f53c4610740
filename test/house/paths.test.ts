import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { codePathsBelow } from "../our-code.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const RELATIVE = /new URL\(\s*["'`]([^"'`$]+)["'`],\s*import\.meta\.url/g;

// A test that asks whether a program is installed is skipped for ever where it
// looks at a wrong place.
it("a path beside a module leads to a file, or to what git ignores because it is installed or built", () => {
  const absent = ["test", "bench"]
    .flatMap((folder) => codePathsBelow(folder))
    .flatMap(pathsIn)
    .filter((path) => !existsSync(`${root}${path}`))
    // Git ignores some only as a directory, which an absent path needs to say.
    .map((path) => `${path}/`);
  const ignored = spawnSync("git", ["check-ignore", "--stdin"], {
    cwd: root,
    input: absent.join("\n"),
    encoding: "utf8",
  }).stdout.split("\n");
  expect(absent.filter((path) => !ignored.includes(path))).toEqual([]);
});

function pathsIn(file: string): string[] {
  const text = readFileSync(`${root}${file}`, "utf8");
  const base = pathToFileURL(`${root}${file}`);
  return [...text.matchAll(RELATIVE)].map(([, path = ""]) =>
    relative(root, fileURLToPath(new URL(path, base))),
  );
}
