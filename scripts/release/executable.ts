import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { build } from "rolldown";
import { ROOT } from "./manifests.ts";

/** What Node looks for, to know that it has a script in it. */
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";
const POSTJECT = createRequire(import.meta.url).resolve("postject/dist/cli.js");

/**
 * Makes an executable of the command as it is built and of the Node that runs
 * this: a single executable application of Node.
 */
export async function makeExecutable(file: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "devtool-executable-"));
  try {
    const main = join(directory, "main.cjs");
    await build({
      input: join(ROOT, "packages/cli/src/executable.ts"),
      platform: "node",
      output: { file: main, format: "cjs" },
      logLevel: "warn",
    });
    const files = commandFiles();
    const digest = join(directory, "digest");
    writeFileSync(digest, digestOf(files));
    const output = join(directory, "blob");
    const assets = { ...files, digest };
    const config = join(directory, "sea.json");
    writeFileSync(
      config,
      JSON.stringify({
        main,
        output,
        assets,
        disableExperimentalSEAWarning: true,
      }),
    );
    node("--experimental-sea-config", config);
    copyFileSync(process.execPath, file);
    chmodSync(file, 0o755);
    node(POSTJECT, file, "NODE_SEA_BLOB", output, "--sentinel-fuse", FUSE);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Runs Node; what it prints is in the error if it fails. */
function node(...args: readonly string[]): void {
  execFileSync(process.execPath, args, { stdio: "pipe" });
}

/** The files of the built command, without source maps, by their names in it. */
function commandFiles(): Record<string, string> {
  const dist = join(ROOT, "packages/cli/dist");
  const files = readdirSync(dist, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".map"))
    .map(({ parentPath, name }) => join(parentPath, name))
    .toSorted();
  return Object.fromEntries(files.map((path) => [relative(dist, path), path]));
}

function digestOf(files: Readonly<Record<string, string>>): string {
  const hash = createHash("sha256");
  for (const [name, path] of Object.entries(files)) {
    const bytes = readFileSync(path);
    hash.update(`${name} ${bytes.length}\n`).update(bytes);
  }
  return hash.digest("hex");
}
