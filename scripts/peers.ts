/** Installs what others built, to compare with: into `peers/`, apart from the workspace, by npm. Some 500 MB. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const directory = fileURLToPath(new URL("../peers/", import.meta.url));
const { status } = spawnSync("npm", ["install", "--no-audit", "--no-fund", "--prefix", directory], {
  cwd: directory,
  stdio: "inherit",
});
process.exit(status ?? 1);
