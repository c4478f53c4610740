import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { type PackageManifest, ROOT } from "./manifests.ts";

/**
 * Packs packages, as built, into a directory, and returns the path of each one's tarball in the same order.
 *
 * One process of pnpm packs them all: starting it takes longer than packing. Throws with what pnpm printed when it fails.
 */
export function packPackages(packages: readonly PackageManifest[], destination: string): readonly string[] {
  const filters = packages.flatMap(({ name }) => ["--filter", name]);
  execFileSync("pnpm", [...filters, "pack", "--pack-destination", destination], { cwd: ROOT });
  return packages.map(({ directory, version }) => join(destination, `devtool-${directory}-${version}.tgz`));
}
