/**
 * Builds what changed, quietly, and runs the command with the arguments given:
 * `pnpm devtool run "…"`.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const env = { ...process.env, TURBO_TELEMETRY_DISABLED: "1" };
const built = spawnSync(
  "turbo",
  ["run", "build", "--output-logs=errors-only", "--log-prefix=none"],
  {
    cwd: root,
    env,
  },
);
if (built.status !== 0) {
  process.stderr.write(`${built.stdout}${built.stderr}`);
  process.exit(1);
}
const main = fileURLToPath(
  new URL("../packages/cli/dist/main.js", import.meta.url),
);
const cwd = process.env.INIT_CWD ?? process.cwd();
const running = spawn(process.execPath, [main, ...process.argv.slice(2)], {
  stdio: "inherit",
  cwd,
});
// A terminal also sends Ctrl-C to the command: this process waits until the
// command has ended.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => running.kill("SIGTERM"));
const [code] = await once(running, "exit");
process.exitCode = code ?? 1;
