import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the repository. */
export const ROOT: string = fileURLToPath(new URL("../..", import.meta.url));

/** A package below packages/. */
interface PackageManifest {
  /** The name of its directory. */
  readonly directory: string;
  readonly name: string;
  readonly version: string;
  /** Whether it is published. */
  readonly isPublished: boolean;
}

/** Reads the manifests of all packages. */
export function readManifests(): PackageManifest[] {
  return readdirSync(join(ROOT, "packages")).map((directory) => {
    const text = readFileSync(
      join(ROOT, "packages", directory, "package.json"),
      "utf8",
    );
    const { name, version, private: isPrivate = false } = JSON.parse(text);
    return { directory, name, version, isPublished: isPrivate !== true };
  });
}

/** Returns the version of all packages. Throws when they differ. */
export function commonVersion(
  manifests: readonly PackageManifest[] = readManifests(),
): string {
  const versions = [...new Set(manifests.map(({ version }) => version))];
  const [version = ""] = versions;
  if (versions.length === 1) return version;
  throw new Error(
    `packages have the versions ${versions.join(", ")}: run pnpm release:version`,
  );
}
