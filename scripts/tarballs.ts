/**
 * Packs what is published, as built, into a directory:
 * `node scripts/tarballs.ts [directory [package …]]`. Default: all packages,
 * into `tarballs`.
 */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { ROOT, readManifests } from "./release/manifests.ts";
import { packPackages } from "./release/pack-packages.ts";

const [directoryName, ...names] = process.argv.slice(2);
const destination = resolve(directoryName ?? join(ROOT, "tarballs"));
mkdirSync(destination, { recursive: true });
const published = readManifests().filter(({ isPublished }) => isPublished);
const unknown = names.find(
  (name) => !published.some(({ directory }) => directory === name),
);
if (unknown !== undefined) {
  throw new Error(`"${unknown}" is not a published package`);
}
const packed = published.filter(
  ({ directory }) => names.length === 0 || names.includes(directory),
);
for (const tarball of packPackages(packed, destination)) {
  process.stdout.write(`${tarball}\n`);
}
