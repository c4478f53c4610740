import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type PackageManifest, ROOT } from "./manifests.ts";

/**
 * Packs packages, as built, into a directory, and returns the path of each
 * one's tarball in the same order.
 *
 * One process of pnpm packs them all: starting it takes longer than packing.
 * Throws with what pnpm printed when it fails.
 */
export function packPackages(
  packages: readonly PackageManifest[],
  destination: string,
): readonly string[] {
  const filters = packages.flatMap(({ name }) => ["--filter", name]);
  const pack = [...filters, "pack", "--pack-destination", destination];
  const { error, status, stdout, stderr } = spawnSync("pnpm", pack, {
    cwd: ROOT,
    encoding: "utf8",
  });
  if (error) {
    throw new Error(`pnpm cannot be started: ${error.message}`, {
      cause: error,
    });
  }
  if (status !== 0) throw new Error(`pnpm pack failed:\n${stdout}${stderr}`);
  return packages.map(({ directory, version }) =>
    join(destination, `devtool-${directory}-${version}.tgz`),
  );
}
