import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { breachesOf } from "../house/architecture/breaches.ts";
import { codePathsBelow } from "../our-code.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const ROOMS = ["server", "coding-agent", "policy", "sandbox"];
const text = readFileSync(`${root}docs/architecture.md`, "utf8");

describe("docs/architecture.md", () => {
  it("names every package", () => {
    const rows = [...text.matchAll(/^\| `@devtool\/([\w-]+)`/gm)].map(
      ([, name]) => name,
    );
    expect(rows.toSorted()).toEqual(readdirSync(`${root}packages`).toSorted());
  });

  it.each(ROOMS)(
    "shows every folder of the package %s, and no other",
    (name) => {
      const [, tree = ""] =
        new RegExp(`\`\`\`\npackages/${name}/src/\n([\\s\\S]*?)\`\`\``).exec(
          text,
        ) ?? [];
      const source = sourceOf(name);
      const real = readdirSync(source, { withFileTypes: true }).flatMap(
        (entry) =>
          // What tests alone import is in no build.
          entry.isDirectory() && entry.name !== "testing"
            ? [entry.name, ...below(source, entry.name)]
            : [],
      );
      expect(foldersOf(tree).toSorted()).toEqual(real.toSorted());
    },
  );

  it.each([
    ["server", /^`(server → .*) → @devtool\/schema`$/m],
    [
      "coding-agent",
      /^`(serve-coding-agent → .*) → @devtool\/server\/agent`$/m,
    ],
    ["policy", /^`(explain-decision → .*) → @devtool\/schema`$/m],
    ["sandbox", /^`(find-sandbox → .*) → Node`$/m],
  ])("has the import order of the package %s that is checked", (name, line) => {
    const [, order = ""] = line.exec(text) ?? [];
    const stages = order.split(" → ").map((stage) => stage.split(", "));
    expect(stages.length).toBeGreaterThan(6);
    for (const [index, stage] of stages.entries()) {
      for (const right of stages[index + 1] ?? []) {
        for (const left of stage) {
          expect(
            rulesBroken(name, left, right),
            `${left} may import ${right}`,
          ).not.toContain("stage order");
          expect(
            rulesBroken(name, right, left),
            `${right} may not import ${left}`,
          ).toContain("stage order");
        }
      }
    }
  });

  it("shows the members of seams as they are", () => {
    const [, block = ""] = /## Seams\n\n```ts\n([\s\S]*?)```/.exec(text) ?? [];
    const files = ROOMS.flatMap((name) => filesBelow(sourceOf(name))).map(
      (path) => readFileSync(path, "utf8"),
    );
    const real = new Set(files.flatMap(membersOf));
    const shown = membersOf(block).filter((member) => !member.includes("…"));
    expect(shown.length).toBeGreaterThan(25);
    expect(shown.filter((member) => !real.has(member))).toEqual([]);
  });

  it("names files that exist", () => {
    const files = [...text.matchAll(/(?<![\w>-])([\w./-]+\.ts)\b/g)].map(
      ([, path = ""]) => path,
    );
    expect(files.length).toBeGreaterThan(10);
    const real = ["packages", "test"].flatMap(codePathsBelow);
    const others = [
      ...readdirSync(root),
      ...readdirSync(`${root}scripts`).map((name) => `scripts/${name}`),
    ];
    const paths = [...real, ...others].map((path) => `/${path}`);
    const missing = files.filter(
      (file) =>
        !paths.some((path) =>
          path.endsWith(file.replace(/^(packages|test)?\/?/, "/")),
        ),
    );
    expect(missing).toEqual([]);
  });
});

function filesBelow(directory: string): string[] {
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" });
  return names.flatMap((name) =>
    /(?<!\.test)\.ts$/.test(name) ? [directory + name] : [],
  );
}

/**
 * The members and headings of the interfaces in a piece of code, without
 * comments and on one line each.
 */
function membersOf(code: string): string[] {
  const plain = code
    .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "")
    .replaceAll(/\bexport /g, "");
  const pieces = plain
    .split(/[;{}]/)
    .map((piece) =>
      piece
        .replaceAll(/\s+/g, " ")
        .replaceAll("( ", "(")
        .replaceAll(", )", ")")
        .trim(),
    );
  return pieces.filter((piece) =>
    /^interface |^(readonly )?\w+\??[:(]/.test(piece),
  );
}

/** The folders in a drawn tree, each with that above it; two deep at most. */
function foldersOf(tree: string): string[] {
  let above = "";
  return tree.split("\n").flatMap((line) => {
    const [, indent = "", name] = /^([│ ]*)[├└]── ([\w-]+)\/ /.exec(line) ?? [];
    if (name === undefined) return [];
    if (indent !== "") return [`${above}/${name}`];
    above = name;
    return [name];
  });
}

function sourceOf(name: string): string {
  return `${root}packages/${name}/src/`;
}

function below(source: string, folder: string): string[] {
  const entries = readdirSync(source + folder, { withFileTypes: true });
  return entries.flatMap((entry) =>
    entry.isDirectory() ? [`${folder}/${entry.name}`] : [],
  );
}

/**
 * The checker's finding about a file of one stage that imports a file of
 * another.
 */
function rulesBroken(name: string, from: string, to: string): string[] {
  const source = sourceOf(name);
  const placeOf = (stage: string): string =>
    existsSync(`${source}${stage}.ts`) && !existsSync(source + stage)
      ? `${stage}.ts`
      : `${stage}/x.ts`;
  const [path, target] = [placeOf(from), placeOf(to)];
  const way = path.includes("/") ? `../${target}` : `./${target}`;
  return breachesOf([
    {
      path: `packages/${name}/src/${path}`,
      text: `import { a } from "${way}";`,
    },
  ]).map(({ rule }) => rule);
}
