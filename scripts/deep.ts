/**
 * Runs the tests at full depth: 100,000 bodies for each binding, 1,000 kills,
 * 500,000 command lines. Takes hours.
 *
 *     pnpm test:deep [--seed NUMBER] [--summary PATH] [FILE...]
 *
 * Files are parts of test paths, as vitest takes them. Default: all tests.
 * `--seed` repeats an earlier run; without it a new seed is drawn and printed.
 * Test files with a depth are run one after the other, then all others
 * together. A line for each has its result, its time and its processor time.
 * With `--summary` the lines are also appended to a file, and files that have
 * passed according to it are skipped, so that an interrupted run can be
 * continued. Needs a build.
 */
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

/** A run of the test runner: its name in the summary, and its arguments. */
interface Part {
  readonly name: string;
  readonly args: readonly string[];
}

/** The fields of a report of the test runner that the summary contains. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
}

const root = fileURLToPath(new URL("..", import.meta.url));
/** Ticks of the processor times of /proc, per second. */
const TICKS = 100;
const { values, positionals } = parseArgs({
  options: { seed: { type: "string" }, summary: { type: "string" } },
  allowPositionals: true,
});
const seed = values.seed ?? String(Date.now() % 1_000_000);
if (!/^\d+$/.test(seed)) {
  throw new Error(`the seed is "${seed}": give a whole number`);
}

console.log(`test:deep with seed ${seed}`);
const known =
  values.summary !== undefined && existsSync(values.summary)
    ? readFileSync(values.summary, "utf8")
    : "";
const directory = mkdtempSync(join(tmpdir(), "devtool-deep-"));
const lines: string[] = [];
for (const part of parts(positionals)) {
  if (
    known
      .split("\n")
      .some(
        (line) => line.startsWith("passed ") && line.endsWith(` ${part.name}`),
      )
  ) {
    console.log(
      `skipped, since it passed according to ${values.summary}: ${part.name}`,
    );
    continue;
  }
  const line = play(part);
  lines.push(line);
  if (values.summary !== undefined) appendFileSync(values.summary, `${line}\n`);
}
rmSync(directory, { recursive: true });
console.log(lines.join("\n"));
if (lines.some((line) => !line.startsWith("passed"))) {
  console.log(`to repeat this run: pnpm test:deep --seed ${seed}`);
  process.exitCode = 1;
}

/** The test files that have a depth, one by one, and all others together. */
function parts(chosen: readonly string[]): readonly Part[] {
  const paths = globSync(
    ["packages/*/{src,test}/**/*.test.ts", "test/**/*.test.ts"],
    { cwd: root },
  ).toSorted();
  const played =
    chosen.length === 0
      ? paths
      : paths.filter((path) => chosen.some((name) => path.includes(name)));
  if (played.length === 0) {
    throw new Error(`no test file has ${chosen.join(" or ")} in its path`);
  }
  const { deep = [], flat = [] } = Object.groupBy(played, (path) =>
    // Tests of a contract have the depth of the contract.
    /from "[^"]*(\/depth|\.contract)\.ts"/.test(
      readFileSync(join(root, path), "utf8"),
    )
      ? "deep"
      : "flat",
  );
  const alone = deep.map((path) => ({ name: path, args: [path] }));
  return flat.length === 0
    ? alone
    : [...alone, { name: `${flat.length} files without a depth`, args: flat }];
}

/**
 * Runs a part, and returns its line: result, numbers of tests, time, processor
 * time of it and its children, name.
 */
function play({ name, args }: Part): string {
  const report = join(directory, "report.json");
  rmSync(report, { force: true });
  const env = {
    ...process.env,
    DEVTOOL_DEPTH: "deep",
    DEVTOOL_SEED: seed,
    DEVTOOL_TEST_REPORT: report,
  };
  const began = { at: performance.now(), processor: childrenSeconds() };
  const { status } = spawnSync("vitest", ["run", ...args], {
    cwd: root,
    env,
    stdio: "inherit",
  });
  const wall = Math.round((performance.now() - began.at) / 1000);
  const processor = Math.round(childrenSeconds() - began.processor);
  return `${status === 0 ? "passed" : "FAILED"} ${countsOf(report)} ${wall} s, processor ${processor} s: ${name}`;
}

function countsOf(path: string): string {
  if (!existsSync(path)) return "(no report)";
  const { numPassedTests, numFailedTests, numPendingTests }: Report =
    JSON.parse(readFileSync(path, "utf8"));
  return `(${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped)`;
}

/**
 * The processor time in seconds of all children that have ended; 0 where there
 * is no /proc.
 */
function childrenSeconds(): number {
  if (!existsSync("/proc/self/stat")) return 0;
  const [, fields = ""] = readFileSync("/proc/self/stat", "utf8").split(
    /\) (?!.*\) )/,
  );
  // The first field after the name is the third of proc_pid_stat(5): cutime and
  // cstime are the 16th and the 17th.
  const [user = "0", system = "0"] = fields.split(" ").slice(13, 15);
  return (Number(user) + Number(system)) / TICKS;
}
