/**
 * Runs the benches of a server under load, or those that are named, one after
 * the other, each in a process of its own; options are theirs.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { watchStolenTime } from "../stolen-time.ts";

/**
 * The flags with which Node runs TypeScript sources of packages and tests that
 * no package exports.
 */
const SOURCES = [
  "--experimental-transform-types",
  "--disable-warning=ExperimentalWarning",
  "--conditions=@devtool/source",
];

/** The benches, with the options of Node that they need. */
const BENCHES: ReadonlyMap<string, readonly string[]> = new Map([
  ["turn-cost", []],
  ["workflow-steps", []],
  ["telemetry", []],
  ["stalled-reader", []],
  ["idle-streams", []],
  ["fairness", []],
  ["bombs", SOURCES],
  ["soak", []],
  ["retention", []],
  ["many-tasks", SOURCES],
  ["plateau", []],
  ["appends", SOURCES],
  ["stores", SOURCES],
  ["store-size", SOURCES],
  ["fleet", SOURCES],
]);

const options = process.argv.slice(2).filter((arg) => arg.startsWith("--"));
const named = process.argv.slice(2).filter((arg) => !arg.startsWith("--"));
const unknown = named.find((name) => !BENCHES.has(name));
if (unknown !== undefined) {
  console.error(
    `bench ${JSON.stringify(unknown)} does not exist: choose ${[...BENCHES.keys()].join(", ")}`,
  );
  process.exit(2);
}
const stolen = watchStolenTime();
let failed = 0;
for (const name of named.length > 0 ? named : BENCHES.keys()) {
  const main = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const { status } = spawnSync(
    process.execPath,
    [...(BENCHES.get(name) ?? []), main, ...options],
    {
      stdio: "inherit",
    },
  );
  if (status !== 0) failed++;
}
console.log(`# Node ${process.version}, ${stolen()}`);
process.exit(failed > 0 ? 1 : 0);
