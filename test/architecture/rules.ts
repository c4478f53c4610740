import { posix } from "node:path";

/** A file of code, by its path from the root. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** A rule of the house that a file breaks. */
export interface Breach {
  readonly rule: "stage order" | "seam" | "SDK" | "ambient" | "wire words" | "junk room" | "packages" | "cycle";
  readonly path: string;
  readonly detail: string;
}

/** The stages of the server: a folder may import those to its right. `push` and `command` stand side by side. */
const STAGES: readonly (readonly string[])[] = [
  ["server"],
  ["assembly"],
  ["transport"],
  ["handler"],
  ["push", "command"],
  ["task"],
  ["agent"],
  ["tool"],
  ["trust"],
  ["store"],
  ["stream"],
  ["errors"],
];

/** Which packages of ours and which others each package may import. */
const PACKAGES: ReadonlyMap<string, readonly RegExp[]> = new Map([
  ["schema", [/^@bufbuild\/protobuf(\/|$)/]],
  [
    "client",
    [
      /^@devtool\/schema(\/|$)/,
      /^@bufbuild\/protobuf(\/|$)/,
      /^@connectrpc\/connect(\/|$)/,
      /^eventsource-parser/,
      /^jose$/,
    ],
  ],
  ["fake-gemini", [/^@devtool\/server\/script$/, /^node:/]],
  [
    "conformance",
    [
      /^@devtool\/schema(\/|$)/,
      /^@bufbuild\/protobuf(\/|$)/,
      /^@connectrpc\/connect(-node)?$/,
      /^eventsource-parser/,
      /^node:(http2?|net)$/,
    ],
  ],
  // What the server may not know are our other packages; its libraries are in its package.json.
  ["server", [/^@devtool\/schema(\/|$)/, /^(?!@devtool\/)/]],
]);

const SEAMS: ReadonlySet<string> = new Set([
  "agent/agent-executor.ts",
  "agent/model.ts",
  "command/slash-command.ts",
  "store/push-config-store.ts",
  "store/task-store.ts",
  "tool/policy-engine.ts",
  "tool/sandbox/sandbox.ts",
  "tool/tool.ts",
]);

const SDKS = /^(@google\/genai|@modelcontextprotocol\/|@agentclientprotocol\/)/;
const AMBIENT = /\b(process\.env|Date\.now\(|new Date\(\)|Math\.random\(|randomUUID\(|console\.)/;
const WIRE_WORDS = /["'`](jsonrpc|status-update|artifact-update|text\/event-stream)["'`]/;
const JUNK = /^(utils?|common|helpers?|types|manager)\.ts$/;
const SERVER = "packages/server/src/";

/** Says what in the files is not as the house has it. */
export function breachesOf(files: readonly SourceFile[]): Breach[] {
  return [...files.flatMap(breachesIn), ...cycles(files)];
}

function breachesIn(file: SourceFile): Breach[] {
  const imports = importsOf(file);
  return [
    ...imports.flatMap((specifier) => packageBreach(file, specifier)),
    ...imports.flatMap((specifier) => sdkBreach(file, specifier)),
    ...imports.flatMap((specifier) => stageBreach(file, specifier)),
    ...imports.flatMap((specifier) => seamBreach(file, specifier)),
    ...ambientBreach(file),
    ...wireBreach(file),
    ...(JUNK.test(posix.basename(file.path)) ? [breach("junk room", file, posix.basename(file.path))] : []),
  ];
}

/** What a file imports; types count too, for they also tie one stage to another. */
function importsOf({ text }: SourceFile): string[] {
  const pattern = /^\s*(?:import|export)\s[^"';]*?from\s+"([^"]+)"|^import\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm;
  return [...text.matchAll(pattern)].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? "");
}

function packageBreach(file: SourceFile, specifier: string): Breach[] {
  const allowed = PACKAGES.get(/^packages\/([^/]+)\//.exec(file.path)?.[1] ?? "");
  if (!allowed || specifier.startsWith(".") || allowed.some((pattern) => pattern.test(specifier))) return [];
  return [breach("packages", file, specifier)];
}

function sdkBreach(file: SourceFile, specifier: string): Breach[] {
  const folder = posix.basename(posix.dirname(file.path));
  return SDKS.test(specifier) && !["gemini", "acp", "mcp"].includes(folder) ? [breach("SDK", file, specifier)] : [];
}

function stageBreach(file: SourceFile, specifier: string): Breach[] {
  const target = targetOf(file, specifier);
  if (!file.path.startsWith(SERVER) || !target?.startsWith(SERVER)) return [];
  const [from, to] = [stageOf(file.path), stageOf(target)];
  const sameFolder = folderOf(file.path) === folderOf(target);
  return from === undefined || to === undefined || to > from || sameFolder
    ? []
    : [breach("stage order", file, specifier)];
}

/** The place of a file in the order; undefined for files that stand outside it (index, version, options). */
function stageOf(path: string): number | undefined {
  const index = STAGES.findIndex((names) => names.includes(folderOf(path)));
  return index < 0 ? undefined : index;
}

function folderOf(path: string): string {
  const [first = ""] = path.slice(SERVER.length).split("/");
  return first.replace(/\.ts$/, "");
}

/** A seam may import other seams, plain data and errors. */
function seamBreach(file: SourceFile, specifier: string): Breach[] {
  const target = targetOf(file, specifier);
  if (!SEAMS.has(file.path.slice(SERVER.length)) || !target) return [];
  const name = target.slice(SERVER.length);
  const plain = SEAMS.has(name) || ["errors.ts", "tool/call-update.ts", "tool/confirmations.ts"].includes(name);
  return plain ? [] : [breach("seam", file, specifier)];
}

function ambientBreach(file: SourceFile): Breach[] {
  const inServer = file.path.startsWith(SERVER) && file.path !== `${SERVER}server.ts`;
  const found = inServer ? AMBIENT.exec(withoutComments(file.text)) : null;
  return found ? [breach("ambient", file, found[0])] : [];
}

function wireBreach(file: SourceFile): Breach[] {
  const inside = file.path.startsWith(SERVER) && !file.path.startsWith(`${SERVER}transport/`);
  const found = inside ? WIRE_WORDS.exec(withoutComments(file.text)) : null;
  return found ? [breach("wire words", file, found[0])] : [];
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
}

function cycles(files: readonly SourceFile[]): Breach[] {
  const graph = new Map(
    files.map((file) => [file.path, { file, targets: importsOf(file).flatMap((name) => targetOf(file, name) ?? []) }]),
  );
  return files.filter((file) => reaches(file.path, file.path, graph)).map((file) => breach("cycle", file, file.path));
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
  return specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : undefined;
}

function breach(rule: Breach["rule"], { path }: SourceFile, detail: string): Breach {
  return { rule, path, detail };
}
