/**
 * Installs what others built, to compare with: into `peers/` (500 MB) and `peers/acp/` (1.1 GB), apart from the workspace, by npm. Mistral
 * Vibe is a program in Python and goes into `peers/acp/.venv` (200 MB), where a Python that is new enough is in PATH.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const statuses = ["../peers/", "../peers/acp/"].map((folder) => {
  const directory = fileURLToPath(new URL(folder, import.meta.url));
  const args = ["install", "--no-audit", "--no-fund", "--prefix", directory];
  return spawnSync("npm", args, { cwd: directory, stdio: "inherit" }).status ?? 1;
});

const venv = fileURLToPath(new URL("../peers/acp/.venv", import.meta.url));
const python = ["python3.14", "python3.13", "python3.12"].find((name) => run(name, ["--version"]) === 0);
if (python === undefined) console.info("skipped: mistral-vibe needs python3.12 or newer, which is not in PATH");
else {
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "mistral-vibe==3.0.2"];
  statuses.push(run(python, ["-m", "venv", venv]) || run(`${venv}/bin/python`, pip));
}
process.exit(Math.max(...statuses));

function run(command: string, args: readonly string[]): number {
  return spawnSync(command, args, { stdio: ["ignore", "ignore", "inherit"] }).status ?? 1;
}
