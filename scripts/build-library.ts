/**
 * Builds the modules of a library, in whose directory it runs, to a file
 * for each of its entries and a few that these share: with a file for each
 * module, finding and reading them takes a third of a server's start (ADR 8).
 * Its dependencies and peers stay packages.
 */
import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { build, type ChunkingContext } from "rolldown";

/** The fields of a package.json that the build needs. */
interface Manifest {
  readonly exports: Readonly<Record<string, Entry>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** An entry that is published has a built file, `default`. */
interface Entry {
  readonly "@devtool/source": string;
  readonly default?: string;
}

const manifest: Manifest = JSON.parse(readFileSync("package.json", "utf8"));

const mainEntry = new Set<string>();

await build({
  input: Object.fromEntries(
    Object.values(manifest.exports)
      .filter((entry) => entry.default !== undefined)
      .map(({ "@devtool/source": source }) => [
        basename(source, ".ts"),
        source,
      ]),
  ),
  platform: "neutral",
  external: [
    /^node:/,
    ...Object.keys({
      ...manifest.dependencies,
      ...manifest.peerDependencies,
    }).map((name) => new RegExp(`^${name}(/|$)`)),
  ],
  // The oldest Node of `engines`: newer syntax, such as `await using`, is
  // transpiled for it.
  transform: { target: "node22.19" },
  // The sources are part of the package.
  output: {
    dir: "dist",
    sourcemap: true,
    sourcemapExcludeSources: true,
    minifyInternalExports: false,
    // Otherwise each set of entries that share code has a file for it. Stores
    // keep theirs: with them in this one, V8 doubles its space for new objects
    // when the first card is read, and a server rests at 93 MB instead of 87.
    codeSplitting: {
      groups: [
        {
          name: (id, graph) => (isInMainEntry(id, graph) ? "shared" : null),
          test: /\/src\/(?!store\/)/,
          minShareCount: 2,
        },
      ],
    },
    // V8 keeps the text of each file that is loaded. Without comments and in
    // ASCII alone, it takes one byte for a character.
    comments: false,
    minify: {
      compress: false,
      mangle: false,
      codegen: { asciiOnly: true, removeWhitespace: false },
    },
  },
});

/** Whether the package's main entry, `src/index.ts`, loads a module. */
function isInMainEntry(id: string, graph: ChunkingContext): boolean {
  if (mainEntry.size === 0) addImports(resolve("src/index.ts"), graph);
  return mainEntry.has(id);
}

function addImports(id: string, graph: ChunkingContext): void {
  if (mainEntry.has(id)) return;
  mainEntry.add(id);
  for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) {
    addImports(imported, graph);
  }
}
