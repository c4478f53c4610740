/** Installs what others built, to compare with: into `peers/` (500 MB) and `peers/acp/` (1.1 GB), apart from the workspace, by npm. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const statuses = ["../peers/", "../peers/acp/"].map((folder) => {
  const directory = fileURLToPath(new URL(folder, import.meta.url));
  const args = ["install", "--no-audit", "--no-fund", "--prefix", directory];
  return spawnSync("npm", args, { cwd: directory, stdio: "inherit" }).status ?? 1;
});
process.exit(Math.max(...statuses));
