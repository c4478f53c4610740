/**
 * Writes the table of `docs/agents.md` from what `test/interop/acp-peers.test.ts`
 * recorded. With `--record` it runs the test first, with every agent that is
 * installed, and records; `--record NAME` runs one agent.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { agentsTable, readRecorded } from "../test/acp/recorded.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const page = new URL("../docs/agents.md", import.meta.url);
const [flag, name = ""] = process.argv.slice(2);
if (flag === "--record") {
  const env = {
    ...process.env,
    DEVTOOL_AGENTS_RECORD: "1",
    DEVTOOL_DEPTH: "ci",
  };
  const args = [
    "run",
    "test/interop/acp-peers.test.ts",
    "-t",
    `${name} behind the port`,
  ];
  const { status } = spawnSync("vitest", args, {
    cwd: root,
    env,
    stdio: "inherit",
  });
  if (status !== 0) process.exit(status ?? 1);
}
const [before = "", after = ""] = readFileSync(page, "utf8").split(
  /(?<=<!-- recorded: agents -->\n)[\s\S]*?(?=\n\n)/,
);
writeFileSync(page, `${before}${agentsTable(readRecorded())}${after}`);
