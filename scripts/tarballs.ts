/**
 * Packs what is published, as built, into a directory: `node scripts/tarballs.ts [directory [package …]]`. Default: all packages, into
 * `tarballs`.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const [directoryName, ...names] = process.argv.slice(2);
const destination = resolve(directoryName ?? join(root, "tarballs"));
mkdirSync(destination, { recursive: true });
for (const name of names.length > 0 ? names : readdirSync(join(root, "packages"))) {
  const directory = join(root, "packages", name);
  const manifest = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
  if (manifest.private === true) continue;
  execFileSync("pnpm", ["pack", "--pack-destination", destination], { cwd: directory });
  process.stdout.write(`${join(destination, `devtool-${name}-${manifest.version}.tgz`)}\n`);
}
