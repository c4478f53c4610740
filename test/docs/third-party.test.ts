import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const packages = fileURLToPath(new URL("../../packages/", import.meta.url));

describe("docs/versions.md", () => {
  it("lists every library that our packages need, with the licence it has", () => {
    const text = readFileSync(
      new URL("../../docs/versions.md", import.meta.url),
      "utf8",
    );
    const [, section = ""] = text.split("\n## Third-party software\n");
    const rows = [...section.matchAll(/^\| `([^`]+)` +\| (.+?) +\|/gm)].map(
      ([, name = "", licence = ""]) => `${name} ${licence}`,
    );
    const needed = readdirSync(packages).flatMap((name) =>
      librariesOf(`${packages}${name}`),
    );
    expect(rows).toEqual([...new Set(needed)].toSorted());
  });
});

describe("a server without our agent", () => {
  it("needs six libraries of others (the packed files are measured in packed-server.test.ts)", () => {
    const needed = [...neededBy(`${packages}server`)];
    const others = needed.filter(
      (directory) => !directory.startsWith(packages),
    );
    expect(
      others.map((directory) => manifestIn(directory).name).toSorted(),
    ).toEqual([
      "@bufbuild/protobuf",
      "@connectrpc/connect",
      "@connectrpc/connect-node",
      "ipaddr.js",
      "jose",
      "undici",
    ]);
  });
});

/**
 * The directories of all packages that a package needs, with those that these
 * need.
 */
function neededBy(
  directory: string,
  found: Set<string> = new Set(),
): ReadonlySet<string> {
  for (const name of Object.keys(requirements(manifestIn(directory)))) {
    const needed = realpathSync(installed(directory, name));
    if (found.has(needed)) continue;
    found.add(needed);
    neededBy(needed, found);
  }
  return found;
}

/**
 * Where a package finds another one: in its own directory, or in one above it.
 */
function installed(directory: string, name: string): string {
  const path = join(directory, "node_modules", name);
  return existsSync(path) ? path : installed(dirname(directory), name);
}

/** The libraries of a package, each with its licence. */
function librariesOf(directory: string): string[] {
  const manifest = manifestIn(directory);
  // The command is a bundle, so what it needs is needed to build it.
  const needed = directory.endsWith("/cli")
    ? { ...manifest.devDependencies, ...manifest.dependencies }
    : requirements(manifest);
  const others = Object.keys(needed).filter(
    (name) => !/^(@devtool\/.*|rolldown)$/.test(name),
  );
  return others.map(
    (name) =>
      `${name} ${manifestIn(`${directory}/node_modules/${name}`).license}`,
  );
}

/** The packages that come with one: its dependencies, and required peers. */
function requirements(manifest: Manifest): Readonly<Record<string, string>> {
  const {
    dependencies,
    peerDependencies = {},
    peerDependenciesMeta,
  } = manifest;
  const required = Object.entries(peerDependencies).filter(
    ([name]) => peerDependenciesMeta?.[name]?.optional !== true,
  );
  return { ...dependencies, ...Object.fromEntries(required) };
}

interface Manifest {
  readonly name: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<
    Record<string, { readonly optional?: boolean }>
  >;
}

function manifestIn(directory: string): Manifest {
  return JSON.parse(readFileSync(`${directory}/package.json`, "utf8"));
}
