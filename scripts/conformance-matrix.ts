/**
 * Writes `docs/conformance.md` and `docs/conformance-evidence.md` from what the conformance kit recorded of peers. With
 * `--record` it plays the kit against them first, and records. Needs a build.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { conformancePage, evidencePage } from "../test/conformance/page.ts";
import { readReports } from "../test/conformance/recorded.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
if (process.argv.includes("--record")) {
  const env = { ...process.env, DEVTOOL_CONFORMANCE_RECORD: "1" };
  const { status } = spawnSync("vitest", ["run", "test/conformance-peers.test.ts"], {
    cwd: root,
    env,
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
}
spawnSync("biome", ["format", "--write", "test/conformance/results"], { cwd: root, stdio: "inherit" });
writeFileSync(new URL("../docs/conformance.md", import.meta.url), conformancePage(readReports()));
writeFileSync(new URL("../docs/conformance-evidence.md", import.meta.url), evidencePage(readReports()));
