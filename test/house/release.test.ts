import { readdirSync, readFileSync } from "node:fs";
import { VERSION } from "@devtool/server";
import { describe, expect, it } from "vitest";
import {
  releaseChangelog,
  releaseNotes,
  renameTarballs,
} from "../../scripts/release/changelog.ts";
import {
  commonVersion,
  ROOT,
  readManifests,
} from "../../scripts/release/manifests.ts";

const CHANGELOG = `# Changelog

## 0.1.0 (2026-11-20)

- Talks.
`;

describe("a version", () => {
  it("is that of all packages, and of those that have it in their code", () => {
    const written = ["conformance", "ide", "server"].map((name) => {
      const text = readFileSync(
        `${ROOT}packages/${name}/src/version.ts`,
        "utf8",
      );
      return /VERSION = "(.*)"/.exec(text)?.[1];
    });
    expect(new Set([VERSION, ...written])).toEqual(new Set([commonVersion()]));
  });

  it("stands in every install line of a page", () => {
    const pages = [
      "README.md",
      ...markdownIn("docs"),
      ...readManifests().map(readmeOf),
    ];
    const named = pages.flatMap((path) =>
      [
        ...readFileSync(`${ROOT}${path}`, "utf8").matchAll(
          /-(\d+\.\d+\.\d+)\.tgz/g,
        ),
      ].map(([, version]) => version),
    );
    expect(named.length).toBeGreaterThan(10);
    expect(new Set(named)).toEqual(new Set([commonVersion()]));
  });

  it("is refused when packages differ in it (sabotage)", () => {
    const [first, ...rest] = readManifests();
    if (first === undefined) throw new Error("there are no packages");
    expect(() =>
      commonVersion([{ ...first, version: "9.9.9" }, ...rest]),
    ).toThrow("run pnpm release:version");
  });
});

describe("the changelog of a release", () => {
  const released = releaseChangelog(CHANGELOG, "0.2.0 (2026-12-01)", [
    '---\n"@devtool/client": patch\n---\n\nTalks faster.\n',
    '---\n"@devtool/client": minor\n---\n\n**Breaking**: takes a signal.\n',
  ]);

  it("is what its changesets say, with what breaks first", () => {
    expect(released).toBe(
      `# Changelog

## 0.2.0 (2026-12-01)

- **Breaking**: takes a signal.
- Talks faster.

## 0.1.0 (2026-11-20)

- Talks.
`,
    );
  });

  it("gives the notes of each version", () => {
    expect(releaseNotes(released, "0.1.0")).toBe("- Talks.\n");
    expect(releaseNotes(released, "0.2.0")).toContain("- Talks faster.\n");
  });

  it.each(["0.3.0", "0.2"])("has no notes of %s (sabotage)", (version) => {
    expect(() => releaseNotes(released, version)).toThrow(
      "has nothing about version",
    );
  });
});

describe("the install lines of a release", () => {
  it("name its tarballs, and leave other versions alone", () => {
    expect(
      renameTarballs(
        "devtool-{schema,client}-0.1.0.tgz connect@0.1.0",
        "0.1.0",
        "0.2.0",
      ),
    ).toBe("devtool-{schema,client}-0.2.0.tgz connect@0.1.0");
  });
});

function markdownIn(directory: string): string[] {
  return readdirSync(`${ROOT}${directory}`).flatMap((name) =>
    name.endsWith(".md") ? [`${directory}/${name}`] : [],
  );
}

function readmeOf({ directory }: { readonly directory: string }): string {
  return `packages/${directory}/README.md`;
}
