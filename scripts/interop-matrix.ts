/**
 * Writes `docs/interop.md` from what the interop tests recorded. With
 * `--record` it runs them first, and records.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readMatrix } from "../test/interop/matrix.ts";
import { matrixPage } from "../test/interop/matrix-page.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
if (process.argv.includes("--record")) {
  const env = { ...process.env, DEVTOOL_INTEROP_RECORD: "1" };
  const { status } = spawnSync("vitest", ["run", "test/interop.test.ts"], {
    cwd: root,
    env,
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
}
spawnSync("biome", ["format", "--write", "test/interop/results.json"], {
  cwd: root,
  stdio: "inherit",
});
writeFileSync(
  new URL("../docs/interop.md", import.meta.url),
  matrixPage(readMatrix()),
);
