/**
 * Checks that a commit can be released under a tag: all packages have its
 * version, the changelog says what is new, and no changeset is left. Writes the
 * notes of the release into `reports/release-notes.md`.
 * `pnpm release:check v0.2.0`
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { releaseNotes } from "./release/changelog.ts";
import { commonVersion, ROOT } from "./release/manifests.ts";

const [tag = ""] = process.argv.slice(2);
const version = commonVersion();
if (tag !== `v${version}`) {
  throw new Error(
    `tag "${tag}" is not the version of the packages: tag the commit v${version}`,
  );
}
const left = readdirSync(join(ROOT, ".changeset")).filter(
  (name) => name.endsWith(".md") && name !== "README.md",
);
if (left.length > 0) {
  throw new Error(
    `changesets are left (${left.join(", ")}): run pnpm release:version`,
  );
}
const notes = releaseNotes(
  readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"),
  version,
);
mkdirSync(join(ROOT, "reports"), { recursive: true });
writeFileSync(join(ROOT, "reports/release-notes.md"), notes);
console.log(`ok    ${tag} can be released`);
