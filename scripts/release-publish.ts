/**
 * Publishes the packages that the registry does not have yet in this version,
 * each after those that it depends on. Run again after a failure, it publishes
 * what is missing. The registry and the credentials are npm's own settings.
 * Needs a build. `pnpm release:publish`
 */
import { spawnSync } from "node:child_process";
import { writeDocuments } from "./documents/documents.ts";
import { commonVersion, ROOT } from "./release/manifests.ts";

writeDocuments();
console.log(`publishing version ${commonVersion()}`);
const args = [
  "publish",
  "--recursive",
  "--filter",
  "./packages/*",
  "--no-git-checks",
  "--access",
  "public",
];
const { status } = spawnSync("pnpm", args, { cwd: ROOT, stdio: "inherit" });
process.exitCode = status ?? 1;
