/**
 * Writes `docs/conformance.md` from what the interop tests recorded and from
 * the lists of what peers are known to fail (`test/conformance/known-failing`).
 * With `--record` it runs the interop tests first, and records.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { conformancePage } from "../test/conformance/page.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
if (process.argv.includes("--record")) {
  const env = { ...process.env, DEVTOOL_INTEROP_RECORD: "1" };
  const { status } = spawnSync(
    "vitest",
    ["run", "test/interop/interop.test.ts"],
    {
      cwd: root,
      env,
      stdio: "inherit",
    },
  );
  if (status !== 0) process.exit(status ?? 1);
}
writeFileSync(
  new URL("../docs/conformance.md", import.meta.url),
  conformancePage(),
);
