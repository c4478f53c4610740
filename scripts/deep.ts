/**
 * Runs the tests at full depth: 100,000 bodies for each binding, 1,000 kills, 500,000 command lines. Takes hours.
 *
 *     pnpm test:deep [--seed NUMBER] [FILE...]
 *
 * Files are parts of test paths, as vitest takes them; without any, all tests are run. The seed plays an
 * earlier run again; a fresh one is drawn and printed otherwise. Needs a build.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values, positionals } = parseArgs({ options: { seed: { type: "string" } }, allowPositionals: true });
const seed = values.seed ?? String(Date.now() % 1_000_000);
if (!/^\d+$/.test(seed)) throw new Error(`the seed is "${seed}": give a whole number`);

console.log(`test:deep with seed ${seed}`);
const env = { ...process.env, DEVTOOL_DEPTH: "deep", DEVTOOL_SEED: seed };
const args = ["run", ...positionals];
const { status } = spawnSync("vitest", args, { cwd: root, env, stdio: "inherit" });
if (status !== 0) console.log(`to play this again: pnpm test:deep --seed ${seed}`);
process.exitCode = status ?? 1;
