import type { JsonValue } from "@bufbuild/protobuf";
import { parse as parseToml } from "smol-toml";

/** What a manifest says about a project. */
export interface Manifest {
  /** The file, for instance `package.json`. */
  readonly path: string;
  /** The name of the project; empty when it has none. */
  readonly name: string;
  /** How to do the usual things, as command lines with what they do. */
  readonly commands: readonly ManifestCommand[];
}

/** A command line that a project offers. */
export interface ManifestCommand {
  readonly command: string;
  /** What it runs; empty when that is plain from its name. */
  readonly runs: string;
}

/** So many commands of a manifest are listed. */
const MAX_COMMANDS = 20;

/** Reads a manifest at the top of a workspace; undefined for a file that is none or is broken. `files` are its neighbours. */
export function readManifest(path: string, text: string, files: readonly string[]): Manifest | undefined {
  const read = READERS.get(path);
  if (!read) return undefined;
  try {
    const manifest = read(text, files);
    return { path, name: oneLine(manifest.name), commands: manifest.commands.slice(0, MAX_COMMANDS).map(plain) };
  } catch {
    return undefined;
  }
}

type Reader = (text: string, files: readonly string[]) => Omit<Manifest, "path">;

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["package.json", readPackageJson],
  ["pyproject.toml", readPyproject],
  [
    "Cargo.toml",
    (text) => ({ name: textAt(parseToml(text), ["package", "name"]), commands: fixed("cargo build", "cargo test") }),
  ],
  [
    "go.mod",
    (text) => ({ name: /^module\s+(\S+)/m.exec(text)?.[1] ?? "", commands: fixed("go build ./...", "go test ./...") }),
  ],
  [
    "Makefile",
    (text) => ({ name: "", commands: targetsOf(text).map((name) => ({ command: `make ${name}`, runs: "" })) }),
  ],
  [
    "justfile",
    (text) => ({ name: "", commands: targetsOf(text).map((name) => ({ command: `just ${name}`, runs: "" })) }),
  ],
  ["pom.xml", () => ({ name: "", commands: fixed("mvn package", "mvn test") })],
  ["build.gradle", () => ({ name: "", commands: fixed("./gradlew build", "./gradlew test") })],
  ["build.gradle.kts", () => ({ name: "", commands: fixed("./gradlew build", "./gradlew test") })],
  ["Gemfile", () => ({ name: "", commands: fixed("bundle install") })],
  ["requirements.txt", () => ({ name: "", commands: fixed("pip install -r requirements.txt") })],
]);

function readPackageJson(text: string, files: readonly string[]): Omit<Manifest, "path"> {
  const json: JsonValue = JSON.parse(text);
  const runner = packageManagerOf(json, files);
  const scripts = Object.entries(valueAt(json, ["scripts"]) ?? {});
  const commands = scripts
    .filter(([name]) => !/^(pre|post)(install|publish|pack)|^prepare$/.test(name))
    .map(([name, runs]) => ({ command: `${runner} run ${name}`, runs: typeof runs === "string" ? runs : "" }));
  return { name: textAt(json, ["name"]), commands: [{ command: `${runner} install`, runs: "" }, ...commands] };
}

function packageManagerOf(json: JsonValue, files: readonly string[]): string {
  const [named = ""] = textAt(json, ["packageManager"]).split("@");
  if (["npm", "pnpm", "yarn", "bun"].includes(named)) return named;
  const locks = [
    ["pnpm-lock.yaml", "pnpm"],
    ["yarn.lock", "yarn"],
    ["bun.lock", "bun"],
    ["bun.lockb", "bun"],
  ] as const;
  return locks.find(([lock]) => files.includes(lock))?.[1] ?? "npm";
}

function readPyproject(text: string, files: readonly string[]): Omit<Manifest, "path"> {
  const toml = parseToml(text);
  const run = files.includes("uv.lock") ? "uv run " : files.includes("poetry.lock") ? "poetry run " : "";
  const tools = Object.keys(valueAt(toml, ["tool"]) ?? {});
  const checks = [
    ...(tools.includes("pytest") || /\bpytest\b/.test(text) ? ["pytest"] : []),
    ...(tools.includes("ruff") ? ["ruff check"] : []),
    ...(tools.includes("mypy") ? ["mypy ."] : []),
  ];
  const name = textAt(toml, ["project", "name"]) || textAt(toml, ["tool", "poetry", "name"]);
  return { name, commands: fixed(...checks.map((check) => `${run}${check}`)) };
}

function targetsOf(text: string): string[] {
  const names = [...text.matchAll(/^([A-Za-z][\w-]*)\s*:(?!=)/gm)].map(([, name = ""]) => name);
  return [...new Set(names)];
}

function fixed(...commands: string[]): ManifestCommand[] {
  return commands.map((command) => ({ command, runs: "" }));
}

function textAt(value: unknown, path: readonly string[]): string {
  const found = path.reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), value);
  return typeof found === "string" ? found : "";
}

function valueAt(value: unknown, path: readonly string[]): Record<string, unknown> | undefined {
  const found = path.reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), value);
  return isRecord(found) ? found : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Takes from a text what could leave its line or its code span, for the file is told to models. */
function oneLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}`]+/gu, " ")
    .trim()
    .slice(0, 120);
}

function plain({ command, runs }: ManifestCommand): ManifestCommand {
  return { command: oneLine(command), runs: oneLine(runs) };
}
