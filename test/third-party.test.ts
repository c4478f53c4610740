import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const packages = fileURLToPath(new URL("../packages/", import.meta.url));

describe("docs/third-party.md", () => {
  it("lists every library that our packages need, with the licence it has", () => {
    const text = readFileSync(new URL("../docs/third-party.md", import.meta.url), "utf8");
    const rows = [...text.matchAll(/^\| `([^`]+)` +\| (.+?) +\|/gm)].map(
      ([, name = "", licence = ""]) => `${name} ${licence}`,
    );
    const needed = readdirSync(packages).flatMap((name) => librariesOf(`${packages}${name}`));
    expect(rows).toEqual([...new Set(needed)].toSorted());
  });
});

/** The libraries of a package, each with its licence. */
function librariesOf(directory: string): string[] {
  const { dependencies, devDependencies } = manifestIn(directory);
  // The command is a bundle, so what it needs is needed to build it.
  const needed = directory.endsWith("/cli") ? { ...devDependencies, ...dependencies } : dependencies;
  const others = Object.keys(needed ?? {}).filter((name) => !/^(@devtool\/.*|rolldown)$/.test(name));
  return others.map((name) => `${name} ${manifestIn(`${directory}/node_modules/${name}`).license}`);
}

interface Manifest {
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function manifestIn(directory: string): Manifest {
  return JSON.parse(readFileSync(`${directory}/package.json`, "utf8"));
}
