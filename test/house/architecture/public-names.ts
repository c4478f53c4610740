import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, readManifests } from "../../../scripts/release/manifests.ts";

/** A name that a published package exports. */
export interface PublicName {
  /** Where it is imported from: `@devtool/server/agent`. */
  readonly entry: string;
  readonly name: string;
  /** Whether it is of a proto: a message, its schema, an enum, a service. */
  readonly isGenerated: boolean;
}

/** What the manifest of a package says about its entries. */
interface Entries {
  readonly exports: Readonly<Record<string, { "@devtool/source"?: string }>>;
  readonly publishConfig: { readonly exports: object };
}

const LISTS = /^export (?:type )?\{([^}]*)\}(?: from "([^"]+)")?;/gm;
const DECLARED =
  /^export (?:async )?(?:function|const|class|interface|type|enum) (\w+)/gm;
const IMPORTED =
  /(?:import|export) (?:type )?\{([^}]*)\} from ["'](@devtool\/[^"']+)["']|\{([^{}]*)\} = await import\(\s*["'](@devtool\/[^"']+)["']/g;

/** Lists the names of all entries of all published packages. */
export function publicNames(): PublicName[] {
  const published = readManifests().filter(({ isPublished }) => isPublished);
  return published.flatMap(({ directory, name }) => {
    const manifest: Entries = JSON.parse(
      read(`packages/${directory}/package.json`),
    );
    return Object.keys(manifest.publishConfig.exports).flatMap((path) => {
      const source = manifest.exports[path]?.["@devtool/source"];
      if (source === undefined) return [];
      const entry = join(name, path);
      const names = namesOf(read(join("packages", directory, source)));
      return names.map((each) => ({ ...each, entry }));
    });
  });
}

/** The names that a module exports; entries list theirs one by one. */
function namesOf(text: string): Omit<PublicName, "entry">[] {
  const listed = [...text.matchAll(LISTS)].flatMap(([, list = "", from = ""]) =>
    wordsOf(list).map((word) => ({
      name: word.replace(/.* as /, ""),
      isGenerated: from.includes("/gen/"),
    })),
  );
  const declared = [...text.matchAll(DECLARED)].map(([, name = ""]) => ({
    name,
    isGenerated: false,
  }));
  return [...listed, ...declared];
}

/**
 * Lists what of them is used, as `entry#name`: what code and pages import, and
 * what pages name in `code`.
 */
export function usedNames(names: readonly PublicName[]): ReadonlySet<string> {
  const pages = filesOf("{*.md,docs/*.md,packages/*/README.md}");
  const code = filesOf(
    "{packages,editors,examples,bench,scripts,test,bindings}/**/*.{ts,tsx,mjs}",
  );
  const imported = [...code, ...pages].flatMap((text) =>
    [...text.matchAll(IMPORTED)].flatMap(([, list, from, late, lateFrom]) =>
      wordsOf(list ?? late ?? "").map(
        (word) => `${from ?? lateFrom}#${word.replace(/ as .*|:.*/, "")}`,
      ),
    ),
  );
  const words = new Set(
    pages
      .flatMap((text) => text.match(/`[^`\n]+`/g) ?? [])
      .flatMap((code) => code.match(/\w+/g) ?? []),
  );
  const named = names.filter(({ name }) => words.has(name)).map(idOf);
  return new Set([...imported, ...named]);
}

/** Returns where a name is imported from, and the name. */
export function idOf({ entry, name }: PublicName): string {
  return `${entry}#${name}`;
}

function filesOf(pattern: string): string[] {
  const isOthers = (path: string): boolean =>
    /(^|\/)(node_modules|dist|gen|target)$/.test(path);
  return globSync(pattern, { cwd: ROOT, exclude: isOthers }).map(read);
}

function wordsOf(list: string): string[] {
  return list
    .split(",")
    .map((item) => item.trim().replace(/^type /, ""))
    .filter((item) => item !== "");
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}
