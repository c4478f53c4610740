/**
 * Runs every check that is not a test: lint and format, protos, fresh generated
 * code, types, workflows, published packages. `--without workflows` leaves out
 * that check, whose linter is built with Go where it is not installed.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "./release/manifests.ts";

const scratch = mkdtempSync(join(tmpdir(), "devtool-check-"));
const failures: string[] = [];
const { without } = parseArgs({
  options: { without: { type: "string" } },
}).values;
/** The version of actionlint to build where there is none. */
const ACTIONLINT = "v1.7.12";

function step(name: string, command: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: ROOT,
    encoding: "utf8",
  });
  const passed = status === 0;
  process.stdout.write(`${passed ? "ok    " : "FAILED"} ${name}\n`);
  if (passed) return;
  failures.push(name);
  process.stdout.write(`${stdout ?? ""}${stderr ?? ""}\n`);
}

/**
 * Returns the linter of workflows: the one on this machine, or one that Go
 * builds into the clone. Undefined without both.
 */
function findActionlint(): string | undefined {
  if (spawnSync("actionlint", ["-version"]).status === 0) return "actionlint";
  const directory = join(ROOT, "node_modules/.cache/devtool-actionlint");
  const program = join(directory, "actionlint");
  if (existsSync(program)) return program;
  const env = { ...process.env, GOBIN: directory };
  const { status } = spawnSync(
    "go",
    ["install", `github.com/rhysd/actionlint/cmd/actionlint@${ACTIONLINT}`],
    { env },
  );
  return status === 0 ? program : undefined;
}

step("lint and format", "biome", ["check", "--error-on-warnings", "."]);
step("buf lint", "buf", ["lint"]);
step("buf format", "buf", ["format", "proto", "--diff", "--exit-code"]);
for (const [template, name] of [
  ["buf.gen.yaml", "schema"],
  ["buf.gen.conformance.yaml", "conformance"],
  ["buf.gen.ide.yaml", "ide"],
] as const) {
  const made = ["--template", template, "--output", scratch];
  step(`generate ${name}`, "buf", ["generate", ...made]);
  const code = join("packages", name, "src", "gen");
  step(`generated code of ${name} is fresh`, "diff", [
    "-r",
    join(scratch, code),
    code,
  ]);
}
step("types", "tsc", ["-p", "tsconfig.json"]);
// Builds do not check types again (`--noCheck`). The schema also runs without
// Node, so it is checked without Node's types.
step("types of the schema", "tsc", [
  "-p",
  "packages/schema/tsconfig.build.json",
  "--noEmit",
]);
for (const page of [
  "examples/ag-ui",
  "examples/ai-sdk",
  "examples/browser",
  "examples/react",
  "packages/console/page",
]) {
  step(`types of ${page}`, "tsc", [
    "-p",
    page,
    "--customConditions",
    "@devtool/source",
  ]);
}
if (without !== "workflows") {
  const program = findActionlint();
  if (program === undefined) {
    process.stdout.write(
      "SKIPPED workflows: neither actionlint nor Go is installed\n",
    );
  } else {
    step("workflows", program, ["-color=false"]);
  }
}
step("build", "turbo", ["run", "build", "--output-logs=errors-only"]);
step("pack", "node", ["scripts/tarballs.ts", scratch]);
const tarballs = readdirSync(scratch).filter((name) => name.endsWith(".tgz"));
step("published packages", "node", [
  "scripts/check-package.ts",
  ...tarballs.map((name) => join(scratch, name)),
]);

rmSync(scratch, { recursive: true });
if (failures.length > 0) {
  process.stdout.write(
    `${failures.length} checks failed: ${failures.join(", ")}\n`,
  );
}
process.exitCode = failures.length > 0 ? 1 : 0;
