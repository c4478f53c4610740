import { posix } from "node:path";

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
    | "seam"
    | "SDK"
    | "ambient"
    | "wire words"
    | "junk room"
    | "packages"
    | "cycle";
  readonly path: string;
  readonly detail: string;
}

/** The stages of a package: a folder, or a file beside the folders, may import those to its right. */
const STAGES: ReadonlyMap<string, readonly (readonly string[])[]> = new Map([
  [
    "server",
    [
      ["server"],
      ["assembly"],
      ["transport"],
      ["handler"],
      ["push"],
      ["task"],
      ["agent", "outbound"],
      ["store"],
      ["stream", "files"],
      ["errors", "failpoint", "other-process"],
    ],
  ],
  [
    "coding-agent",
    [
      ["serve-coding-agent"],
      ["coding-agent"],
      ["assembly"],
      ["command"],
      ["agent"],
      ["tool"],
      ["trust"],
      ["client-error"],
    ],
  ],
  // One folder each.
  ["gemini", []],
  ["mcp", []],
  [
    "policy",
    [
      ["rule-policy"],
      ["approval-rules", "grants", "saved-approvals", "shell-decision"],
      ["file-rules", "policy-file"],
      ["rule-order", "redirection-target", "repository-filters"],
      ["compiled-rule"],
      ["policy-subject"],
      ["policy-engine", "pattern", "guarded-paths"],
      ["shell"],
      ["policy-error", "failpoint"],
    ],
  ],
  [
    "sandbox",
    [
      ["find-sandbox", "sandbox-grants"],
      ["start-process"],
      ["bwrap-sandbox", "no-sandbox", "host-programs", "denial", "end-process"],
      ["search-path", "placeholders", "spawn-command", "mount-check"],
      ["workspace-mounts"],
      ["git-repositories"],
      ["git-index", "system-mounts", "placeholder", "mount-table", "process-state"],
      ["sandbox", "seccomp-filter", "regular-file"],
      ["sandbox-error", "failpoint"],
    ],
  ],
]);

/** The folders of the server's transport: each dialect may import what is shared, and no other dialect. */
const TRANSPORTS: ReadonlyMap<string, readonly string[]> = new Map([
  ["http", ["auth"]],
  ["auth", ["http"]],
  ["a2a", ["http", "auth"]],
  ["connect", ["http", "auth"]],
  ["a2a-v03", ["a2a", "http", "auth"]],
  ["a2a-v1", ["a2a", "http", "auth"]],
  ["gemini-cli", ["a2a", "http", "auth"]],
]);

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
  ["fake-gemini", [/^@devtool\/coding-agent\/script$/, /^@devtool\/schema\/json$/, /^node:/]],
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
  // What the server may not know are our other packages, above all agents; its libraries are in its package.json.
  ["server", [/^@devtool\/schema(\/|$)/, /^(?!@devtool\/)/]],
  // What plugs into the coding agent imports its seams, which have entries of their own.
  [
    "gemini",
    [/^@devtool\/schema(\/json)?$/, /^@devtool\/server\/agent$/, /^@devtool\/coding-agent\/model$/, /^(?!@devtool\/)/],
  ],
  [
    "mcp",
    [/^@devtool\/schema(\/json)?$/, /^@devtool\/server\/agent$/, /^@devtool\/coding-agent\/tool$/, /^(?!@devtool\/)/],
  ],
  ...["openai", "anthropic"].map((name): [string, RegExp[]] => [
    name,
    [/^@devtool\/schema(\/json)?$/, /^@devtool\/server\/agent$/, /^@devtool\/coding-agent\/model$/, /^(?!@devtool\/)/],
  ]),
  // Agents of others know the seam of the server; the port as an agent knows a client, like any front.
  ["acp", [/^@devtool\/(schema|client)(\/|$)/, /^@devtool\/server\/agent$/, /^(?!@devtool\/)/]],
  ["codex", [/^@devtool\/schema(\/|$)/, /^@devtool\/server\/agent$/, /^(?!@devtool\/)/]],
  ["coding-agent", [/^@devtool\/(schema|policy|sandbox)(\/|$)/, /^@devtool\/server(\/agent)?$/, /^(?!@devtool\/)/]],
  // For the owners of other agents: none of ours but the messages that files of rules are.
  ["policy", [/^@devtool\/schema(\/json)?$/, /^(?!@devtool\/)/]],
  ["sandbox", [/^node:/]],
]);

const SEAMS: ReadonlySet<string> = new Set([
  "server/src/agent/agent.ts",
  "server/src/agent/agent-call.ts",
  "server/src/agent/agent-executor.ts",
  "server/src/store/push-config-store.ts",
  "server/src/store/task-store.ts",
  "coding-agent/src/agent/model.ts",
  "coding-agent/src/command/slash-command.ts",
  "coding-agent/src/tool/mcp.ts",
  "coding-agent/src/tool/tool.ts",
  "policy/src/policy-engine.ts",
  "sandbox/src/sandbox.ts",
]);

/** What a seam may import beside other seams: plain data and errors. */
const PLAIN: ReadonlySet<string> = new Set([
  "server/src/errors.ts",
  "server/src/agent/call-update.ts",
  "server/src/agent/confirmations.ts",
]);

/** The files that touch clock, random ids, environment and console, for all others of their packages. */
const ENTRIES: ReadonlySet<string> = new Set([
  "server/src/server.ts",
  "coding-agent/src/coding-agent.ts",
  "gemini/src/gemini-model.ts",
]);

/** The heavy SDKs, each with the package that may import it. */
const SDKS: readonly (readonly [name: string, sdk: RegExp])[] = [
  ["gemini", /^(@google\/|google-auth-library$)/],
  ["mcp", /^@modelcontextprotocol\//],
  ["acp", /^@agentclientprotocol\//],
  ["openai", /^openai(\/|$)/],
  ["anthropic", /^@anthropic-ai\//],
];
const AMBIENT = /\b(process\.env|Date\.now\(|new Date\(\)|Math\.random\(|randomUUID\(|console\.)/;
const WIRE_WORDS = /["'`](jsonrpc|status-update|artifact-update|text\/event-stream)["'`]/;
const JUNK = /^(utils?|common|helpers?|types|manager)\.ts$/;

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
    ...imports.flatMap((specifier) => dialectBreach(file, specifier)),
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
  const own = packageOf(file.path);
  const target = targetOf(file, specifier);
  if (target) return packageOf(target) === own ? [] : [breach("packages", file, specifier)];
  const allowed = PACKAGES.get(own);
  return !allowed || allowed.some((pattern) => pattern.test(specifier)) ? [] : [breach("packages", file, specifier)];
}

function packageOf(path: string): string {
  return /^packages\/([^/]+)\//.exec(path)?.[1] ?? "";
}

function sdkBreach(file: SourceFile, specifier: string): Breach[] {
  const own = packageOf(file.path);
  const isForeign = SDKS.some(([name, sdk]) => sdk.test(specifier) && name !== own);
  return isForeign ? [breach("SDK", file, specifier)] : [];
}

function stageBreach(file: SourceFile, specifier: string): Breach[] {
  const target = targetOf(file, specifier);
  if (target === undefined || packageOf(target) !== packageOf(file.path)) return [];
  const [from, to] = [stageOf(file.path), stageOf(target)];
  const sameFolder = folderOf(file.path) === folderOf(target);
  return from === undefined || to === undefined || to > from || sameFolder
    ? []
    : [breach("stage order", file, specifier)];
}

function dialectBreach(file: SourceFile, specifier: string): Breach[] {
  const [from, to] = [transportOf(file.path), transportOf(targetOf(file, specifier) ?? "")];
  if (from === undefined || to === undefined || from === to) return [];
  return TRANSPORTS.get(from)?.includes(to) ? [] : [breach("dialects", file, specifier)];
}

/** The folder of the server's transport that a file is in; undefined when it is in none. */
function transportOf(path: string): string | undefined {
  return /^packages\/server\/src\/transport\/([^/]+)\//.exec(path)?.[1];
}

/** The place of a file in the order of its package; undefined for files that stand outside it (index, version, options). */
function stageOf(path: string): number | undefined {
  const stages = STAGES.get(packageOf(path)) ?? [];
  const index = stages.findIndex((names) => names.includes(folderOf(path)));
  return index < 0 ? undefined : index;
}

/** The folder below `src` that a file is in, or the name of a file that is in none. */
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
  return SEAMS.has(name) || PLAIN.has(name) ? [] : [breach("seam", file, specifier)];
}

function ambientBreach(file: SourceFile): Breach[] {
  const isInside = STAGES.has(packageOf(file.path)) && !ENTRIES.has(nameIn(file.path));
  const found = isInside ? AMBIENT.exec(withoutComments(file.text)) : null;
  return found ? [breach("ambient", file, found[0])] : [];
}

function wireBreach(file: SourceFile): Breach[] {
  const isInside = STAGES.has(packageOf(file.path)) && folderOf(file.path) !== "transport";
  const found = isInside ? WIRE_WORDS.exec(withoutComments(file.text)) : null;
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
