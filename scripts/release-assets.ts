/**
 * Puts the assets of a release, which are not in the registry, into `release/`:
 * the packed packages, the command as one executable for this system, the protos as one file for the
 * generators of other languages and as an archive, the reference, the extension for VS Code, and the
 * digests of all. Needs a build.
 * `pnpm release:assets`
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { referenceText } from "./documents/documents.ts";
import { makeExecutable } from "./release/executable.ts";
import { ROOT } from "./release/manifests.ts";

const directory = join(ROOT, "release");
rmSync(directory, { recursive: true, force: true });
mkdirSync(directory);
execFileSync(process.execPath, [join(ROOT, "scripts/tarballs.ts"), directory], {
  cwd: ROOT,
  stdio: "inherit",
});
const { platform, arch } = process;
await makeExecutable(join(directory, `devtool-${platform}-${arch}`));
const protos = join(ROOT, "packages/schema/dist");
copyFileSync(join(protos, "devtool.binpb"), join(directory, "devtool.binpb"));
copyFileSync(
  join(ROOT, "editors/vscode/dist/devtool.vsix"),
  join(directory, "devtool.vsix"),
);
execFileSync("tar", [
  "-czf",
  join(directory, "devtool-protos.tar.gz"),
  "-C",
  protos,
  "proto",
]);
writeFileSync(join(directory, "reference.md"), referenceText());
const digests = readdirSync(directory).map((name) => {
  const digest = createHash("sha256")
    .update(readFileSync(join(directory, name)))
    .digest("hex");
  return `${digest}  ${name}\n`;
});
writeFileSync(join(directory, "SHA256SUMS"), digests.join(""));
