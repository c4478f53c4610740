/**
 * Gives all packages the next version, which the changesets decide, and writes
 * it wherever a text has it: the changelog, the install lines of pages, and the
 * packages that read no files. `pnpm release:version`
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { releaseChangelog, renameTarballs } from "./release/changelog.ts";
import { commonVersion, ROOT, readManifests } from "./release/manifests.ts";

const from = commonVersion();
// `changeset version` deletes them.
const changesets = readdirSync(join(ROOT, ".changeset"))
  .filter((name) => name.endsWith(".md") && name !== "README.md")
  .map((name) => readFileSync(join(ROOT, ".changeset", name), "utf8"));
const { status } = spawnSync("changeset", ["version"], {
  cwd: ROOT,
  stdio: "inherit",
});
if (status !== 0) process.exit(status ?? 1);
const to = commonVersion();
if (to === from) {
  throw new Error("no changeset asks for a release: run pnpm changeset");
}

const rewrite = (path: string, change: (text: string) => string): void => {
  const file = join(ROOT, path);
  writeFileSync(file, change(readFileSync(file, "utf8")));
};
const today = new Date().toISOString().slice(0, 10);
rewrite("CHANGELOG.md", (text) =>
  releaseChangelog(text, `${to} (${today})`, changesets),
);
for (const name of ["conformance", "ide", "server"]) {
  rewrite(`packages/${name}/src/version.ts`, (text) =>
    text.replace(`"${from}"`, `"${to}"`),
  );
}
rewrite("packages/cli/server.json", (text) =>
  text.replaceAll(`"version": "${from}"`, `"version": "${to}"`),
);
const pages = readdirSync(join(ROOT, "docs")).filter((name) =>
  name.endsWith(".md"),
);
const readmes = readManifests().map(
  ({ directory }) => `packages/${directory}/README.md`,
);
for (const path of [
  "README.md",
  ...pages.map((name) => `docs/${name}`),
  ...readmes,
]) {
  rewrite(path, (text) => renameTarballs(text, from, to));
}
console.log(
  `version ${from} is now ${to}: review the changes, commit them, and tag the commit v${to}`,
);
