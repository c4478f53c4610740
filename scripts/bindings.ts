/**
 * Installs, generates and compiles the bindings of languages: `pnpm bindings python go`, or `pnpm bindings all`. Says which
 * it leaves out because their toolchain is not here.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fromJsonString } from "@bufbuild/protobuf";
import { type Binding, BindingSchema, type Command } from "@devtool/schema/conformance";

const root = fileURLToPath(new URL("..", import.meta.url));
const env = { ...process.env, PATH: [join(root, "node_modules", ".bin"), process.env.PATH].join(delimiter) };
const known = readdirSync(join(root, "bindings")).filter((name) => existsSync(fileOf(name)));

function fileOf(language: string): string {
  return join(root, "bindings", language, "binding.json");
}

function read(language: string): Binding {
  return fromJsonString(BindingSchema, readFileSync(fileOf(language), "utf8"));
}

/** Whether a command is there and does what it tells. */
function runs({ words: [name = "", ...args] }: Command): boolean {
  return spawnSync(name, args, { stdio: "ignore", env }).status === 0;
}

/** Builds a binding; the command that failed, in words, or undefined. */
function build(language: string, { build }: Binding): string | undefined {
  const cwd = join(root, "bindings", language);
  const failed = build.find(({ words: [name = "", ...args] }) => {
    const { status } = spawnSync(name, args, { cwd, env, stdio: ["ignore", "inherit", "inherit"] });
    return status !== 0;
  });
  return failed?.words.join(" ");
}

function outcomeOf(language: string): string {
  const binding = read(language);
  const missing = binding.needs.find((command) => !runs(command));
  if (missing) return `skipped: ${missing.words.join(" ")} does not run here`;
  // The tests look for this file.
  const built = join(root, "bindings", language, ".built");
  rmSync(built, { force: true });
  const start = performance.now();
  const failed = build(language, binding);
  if (failed !== undefined) {
    process.exitCode = 1;
    return `FAILED: ${failed}`;
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  writeFileSync(built, "");
  return `ok in ${seconds} s`;
}

const named = process.argv.slice(2);
const unknown = named.find((name) => name !== "all" && !known.includes(name));
if (named.length === 0 || unknown !== undefined) {
  const problem = unknown === undefined ? "no language is named" : `"${unknown}" does not have a binding`;
  process.stderr.write(`${problem}: take some of ${known.join(", ")}, or all\n`);
  process.exit(2);
}
for (const language of named.includes("all") ? known : named) {
  process.stdout.write(`${language.padEnd(10)} ${outcomeOf(language)}\n`);
}
