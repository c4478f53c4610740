/**
 * Packs what is published, as built, into a directory:
 * `node scripts/tarballs.ts [directory]`. Default: into `tarballs`.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { writeDocuments } from "./documents/documents.ts";
import { ROOT, readManifests } from "./release/manifests.ts";

const destination = resolve(process.argv[2] ?? join(ROOT, "tarballs"));
mkdirSync(destination, { recursive: true });
const published = readManifests().filter(({ isPublished }) => isPublished);
writeDocuments();
// One process of pnpm packs them all: starting it takes longer than packing.
const filters = published.flatMap(({ name }) => ["--filter", name]);
const { error, status, stdout, stderr } = spawnSync(
  "pnpm",
  [...filters, "pack", "--pack-destination", destination],
  { cwd: ROOT, encoding: "utf8" },
);
if (error) {
  throw new Error(`pnpm cannot be started: ${error.message}`, {
    cause: error,
  });
}
if (status !== 0) throw new Error(`pnpm pack failed:\n${stdout}${stderr}`);
for (const { directory, version } of published) {
  const name = `devtool-${directory}-${version}.tgz`;
  process.stdout.write(`${join(destination, name)}\n`);
}
