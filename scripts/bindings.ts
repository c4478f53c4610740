/**
 * Installs, generates and compiles the bindings of languages:
 * `pnpm bindings python go`, or `pnpm bindings all`. Names the languages whose
 * toolchain is not installed, and skips them.
 */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fromJsonString } from "@bufbuild/protobuf";
import { BindingSchema } from "@devtool/conformance/protos";

const root = fileURLToPath(new URL("..", import.meta.url));
const env = {
  ...process.env,
  PATH: [join(root, "node_modules", ".bin"), process.env.PATH].join(delimiter),
};
const known = readdirSync(join(root, "bindings")).filter((name) =>
  existsSync(fileOf(name)),
);

function fileOf(language: string): string {
  return join(root, "bindings", language, "binding.json");
}

/** Builds the binding of a language. Returns the outcome in words. */
function buildBinding(language: string): string {
  const { needs, build } = fromJsonString(
    BindingSchema,
    readFileSync(fileOf(language), "utf8"),
  );
  const missing = needs.find(({ words: [name = "", ...args] }) => {
    const { status } = spawnSync(name, args, { stdio: "ignore", env });
    return status !== 0;
  });
  if (missing) return `skipped: ${missing.words.join(" ")} does not run here`;
  const cwd = join(root, "bindings", language);
  // The tests look for this file.
  const built = join(cwd, ".built");
  rmSync(built, { force: true });
  const start = performance.now();
  const failed = build.find(({ words: [name = "", ...args] }) => {
    // Compilers are told to be quiet, and some take minutes.
    process.stdout.write(`${language}: ${[name, ...args].join(" ")}\n`);
    const { status } = spawnSync(name, args, {
      cwd,
      env,
      stdio: ["ignore", "inherit", "inherit"],
    });
    return status !== 0;
  });
  if (failed) {
    process.exitCode = 1;
    return `FAILED: ${failed.words.join(" ")}`;
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  writeFileSync(built, "");
  return `ok in ${seconds} s`;
}

const named = process.argv.slice(2);
const unknown = named.find((name) => name !== "all" && !known.includes(name));
if (named.length === 0 || unknown !== undefined) {
  const problem =
    unknown === undefined
      ? "no language is named"
      : `"${unknown}" does not have a binding`;
  process.stderr.write(`${problem}: choose from ${known.join(", ")}, or all\n`);
  process.exit(2);
}
for (const language of named.includes("all") ? known : named) {
  process.stdout.write(`${language.padEnd(10)} ${buildBinding(language)}\n`);
}
