import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];
// For programs that use the helpers of tests.
process.once("exit", removeTemporaryDirectories);

/**
 * Makes an empty directory, whose path has no links. It is removed when all
 * tests of the file that called this have ended, or the process exits.
 */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(realpathSync(tmpdir()), "devtool-"));
  made.push(path);
  return path;
}

/** Removes what {@link temporaryDirectory} made since the last call. */
export function removeTemporaryDirectories(): void {
  for (const path of made.splice(0)) {
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  }
}
