import { posix } from "node:path";
import {
  DIALECT_ENTRIES,
  DIALECT_FILE,
  ENTRIES,
  PACKAGES,
  PLAIN,
  SDKS,
  SEAMS,
  STAGES,
  SYSTEM_SEAMS,
  TRANSPORTS,
} from "./rules.ts";

/** A file of code, by its path from the root. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** A rule of the house that a file breaks. */
export interface Breach {
  readonly rule:
    | "stage order"
    | "dialects"
    | "dialect names"
    | "seam"
    | "SDK"
    | "ambient"
    | "system"
    | "wire words"
    | "junk room"
    | "packages"
    | "cycle";
  readonly path: string;
  readonly detail: string;
}

const AMBIENT =
  /\b(process\.env|Date\.now\(|new Date\(\)|Math\.random\(|randomUUID\(|console\.)/;
/**
 * What only some systems have: `/proc`, process groups, signals that Windows
 * cannot send, and paths joined or split by the separators of POSIX.
 */
const SYSTEM =
  /["'`]\/proc\b|\bkill\(\s*-|\bdetached: true|\.kill\([^)]*"SIG(?!INT|TERM|KILL)\w+"|\$\{(?:\w+\.)*(?:home|root|workspace)\}\/|\bpath\.split\(":"\)/i;
const WIRE_WORDS =
  /["'`](jsonrpc|status-update|artifact-update|text\/event-stream)["'`]/;
const JUNK = /^(utils?|common|helpers?|types|manager)\.ts$/;

/** Says what in the files is not as the house has it. */
export function breachesOf(files: readonly SourceFile[]): Breach[] {
  const entries = files.filter(({ path }) => DIALECT_ENTRIES.has(nameIn(path)));
  const given = new Set(entries.flatMap(namesFrom));
  return [
    ...files.flatMap(breachesIn),
    ...files.flatMap((file) => dialectNameBreaches(file, given)),
    ...cycles(files),
  ];
}

function breachesIn(file: SourceFile): Breach[] {
  const imports = importsOf(file);
  return [
    ...imports.flatMap((specifier) => packageBreach(file, specifier)),
    ...imports.flatMap((specifier) => sdkBreach(file, specifier)),
    ...imports.flatMap((specifier) => stageBreach(file, specifier)),
    ...imports.flatMap((specifier) => dialectBreach(file, specifier)),
    ...imports.flatMap((specifier) => seamBreach(file, specifier)),
    ...ambientBreach(file),
    ...systemBreach(file),
    ...wireBreach(file),
    ...(JUNK.test(posix.basename(file.path))
      ? [breach("junk room", file, posix.basename(file.path))]
      : []),
  ];
}

/**
 * The imports of a file. Type imports count, because they also couple stages.
 */
function importsOf({ text }: SourceFile): string[] {
  const pattern =
    /^\s*(?:import|export)\s[^"';]*?from\s+"([^"]+)"|^import\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm;
  return [...text.matchAll(pattern)].map(
    ([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? "",
  );
}

function packageBreach(file: SourceFile, specifier: string): Breach[] {
  const own = packageOf(file.path);
  const target = targetOf(file, specifier);
  if (target) {
    return packageOf(target) === own
      ? []
      : [breach("packages", file, specifier)];
  }
  const allowed = PACKAGES.get(own);
  return !allowed || allowed.some((pattern) => pattern.test(specifier))
    ? []
    : [breach("packages", file, specifier)];
}

function packageOf(path: string): string {
  return /^(?:packages|editors)\/([^/]+)\//.exec(path)?.[1] ?? "";
}

function sdkBreach(file: SourceFile, specifier: string): Breach[] {
  const own = packageOf(file.path);
  const owners = SDKS.filter(([, sdk]) => sdk.test(specifier));
  const isForeign = owners.every(([name]) => name !== own);
  return owners.length > 0 && isForeign ? [breach("SDK", file, specifier)] : [];
}

function stageBreach(file: SourceFile, specifier: string): Breach[] {
  const target = targetOf(file, specifier);
  if (target === undefined || packageOf(target) !== packageOf(file.path)) {
    return [];
  }
  const [from, to] = [stageOf(file.path), stageOf(target)];
  const sameFolder = folderOf(file.path) === folderOf(target);
  return from === undefined || to === undefined || to > from || sameFolder
    ? []
    : [breach("stage order", file, specifier)];
}

function dialectBreach(file: SourceFile, specifier: string): Breach[] {
  const [from, to] = [
    transportOf(file.path),
    transportOf(targetOf(file, specifier) ?? ""),
  ];
  if (from === undefined || to === undefined || from === to) return [];
  return TRANSPORTS.get(from)?.includes(to)
    ? []
    : [breach("dialects", file, specifier)];
}

/** What a dialect imports of the server that other dialects cannot have. */
function dialectNameBreaches(
  file: SourceFile,
  given: ReadonlySet<string>,
): Breach[] {
  const dialect = DIALECT_FILE.exec(file.path)?.[1];
  if (dialect === undefined) return [];
  // Which dialects are forms of A2A is another rule.
  const isOwn = (target: string): boolean =>
    [dialect, "a2a"].includes(DIALECT_FILE.exec(target)?.[1] ?? "");
  const names = namesFrom(file);
  return importsOf(file).flatMap((specifier) => {
    const target = targetOf(file, specifier);
    if (target === undefined || isOwn(target)) return [];
    const used = names.filter((name) => name.startsWith(`${target}#`));
    return used.length > 0 && used.every((name) => given.has(name))
      ? []
      : [breach("dialect names", file, specifier)];
  });
}

/** What a file imports by paths, or gives from them: `path#name` for each. */
function namesFrom(file: SourceFile): string[] {
  const statements = file.text.matchAll(
    /\{([^{}]*)\}\s*(?:from|=\s*await\s+import\()\s*"(\.[^"]+)"/g,
  );
  return [...statements].flatMap(([, names = "", specifier = ""]) =>
    names
      .split(",")
      .map((name) => name.trim().replace(/^type /, ""))
      .filter((name) => name !== "")
      .map((name) => `${targetOf(file, specifier)}#${name.split(/ as |:/)[0]}`),
  );
}

/**
 * The folder of the server's transport that a file is in; undefined when it is
 * in none.
 */
function transportOf(path: string): string | undefined {
  return /^packages\/server\/src\/transport\/([^/]+)\//.exec(path)?.[1];
}

/**
 * The place of a file in the order of its package; undefined for files that
 * stand outside it (index, version, options).
 */
function stageOf(path: string): number | undefined {
  const stages = STAGES.get(packageOf(path)) ?? [];
  const index = stages.findIndex((names) => names.includes(folderOf(path)));
  return index < 0 ? undefined : index;
}

/**
 * The folder below `src` that a file is in, or the name of a file that is in
 * none.
 */
function folderOf(path: string): string {
  const [, first = ""] = /^packages\/[^/]+\/src\/([^/]+)/.exec(path) ?? [];
  return first.replace(/\.ts$/, "");
}

function nameIn(path: string): string {
  return path.replace(/^packages\//, "");
}

/** A seam may import other seams, plain data and errors. */
function seamBreach(file: SourceFile, specifier: string): Breach[] {
  const target = targetOf(file, specifier);
  if (!SEAMS.has(nameIn(file.path)) || !target) return [];
  const name = nameIn(target);
  return SEAMS.has(name) || PLAIN.has(name)
    ? []
    : [breach("seam", file, specifier)];
}

function ambientBreach(file: SourceFile): Breach[] {
  const isInside =
    STAGES.has(packageOf(file.path)) && !ENTRIES.has(nameIn(file.path));
  const found = isInside ? AMBIENT.exec(withoutComments(file.text)) : null;
  return found ? [breach("ambient", file, found[0])] : [];
}

function systemBreach(file: SourceFile): Breach[] {
  const isInside =
    file.path.startsWith("packages/") &&
    !SYSTEM_SEAMS.has(nameIn(file.path)) &&
    !/\/(testing|gen)\//.test(file.path);
  const found = isInside ? SYSTEM.exec(withoutComments(file.text)) : null;
  return found ? [breach("system", file, found[0])] : [];
}

function wireBreach(file: SourceFile): Breach[] {
  const name = packageOf(file.path);
  // MCP's client speaks HTTP itself.
  const isInside =
    STAGES.has(name) && name !== "mcp" && folderOf(file.path) !== "transport";
  const found = isInside ? WIRE_WORDS.exec(withoutComments(file.text)) : null;
  return found ? [breach("wire words", file, found[0])] : [];
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
}

function cycles(files: readonly SourceFile[]): Breach[] {
  const graph = new Map(
    files.map((file) => [
      file.path,
      {
        file,
        targets: importsOf(file).flatMap((name) => targetOf(file, name) ?? []),
      },
    ]),
  );
  return files
    .filter((file) => reaches(file.path, file.path, graph))
    .map((file) => breach("cycle", file, file.path));
}

function reaches(
  from: string,
  to: string,
  graph: ReadonlyMap<string, { readonly targets: readonly string[] }>,
): boolean {
  const seen = new Set<string>();
  const open = [...(graph.get(from)?.targets ?? [])];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (path === to) return true;
    if (seen.has(path)) continue;
    seen.add(path);
    open.push(...(graph.get(path)?.targets ?? []));
  }
  return false;
}

function targetOf({ path }: SourceFile, specifier: string): string | undefined {
  return specifier.startsWith(".")
    ? posix.join(posix.dirname(path), specifier)
    : undefined;
}

function breach(
  rule: Breach["rule"],
  { path }: SourceFile,
  detail: string,
): Breach {
  return { rule, path, detail };
}
