import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

/** Short: a path of a workspace stands in lines that terminals wrap. */
const PREFIX = "dt-";
/** What a server leaves that is killed while it tries out its sandbox. */
const LEFT_BY_KILLS = /^devtool-probe-/;
/** The packages that the first test of a run packs which needs them. */
export const TARBALLS = "tarballs";
let directory: string | undefined;

/** Gives a run of the tests a temporary directory of its own. */
export function setup(): void {
  // Each project of a run calls this.
  if (basename(tmpdir()).startsWith(PREFIX)) return;
  directory = mkdtempSync(join(tmpdir(), PREFIX));
  // Databases and attackers of the tests run as other users.
  chmodSync(directory, 0o1777);
  process.env.TMPDIR = directory;
}

/** Removes it. The run fails where tests left something there. */
export function teardown(): void {
  if (directory === undefined) return;
  const left = readdirSync(directory).filter(
    (name) => name !== TARBALLS && !LEFT_BY_KILLS.test(name),
  );
  rmSync(directory, { recursive: true });
  if (left.length === 0) return;
  console.error(`left in the temporary directory: ${left.join(", ")}`);
  process.exitCode = 1;
}
