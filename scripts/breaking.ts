/**
 * Compares the protos with those of an earlier commit: `main` on a branch, the
 * commit before on `main` itself. Skips, and says why, where there is nothing
 * to compare with.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { earlierCommit } from "./earlier-commit.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

const against = earlierCommit("proto");
if (against === undefined) {
  process.stdout.write(
    "SKIPPED buf breaking: there is no earlier commit with protos to compare with\n",
  );
} else {
  const scratch = mkdtempSync(join(tmpdir(), "devtool-breaking-"));
  // The protos of packages are not in the commit: those that are installed
  // stand in for them.
  spawnSync(
    "sh",
    [
      "-c",
      `git archive ${against} buf.yaml proto | tar -x -C "$1"`,
      "sh",
      scratch,
    ],
    { cwd: root },
  );
  symlinkSync(join(root, "node_modules"), join(scratch, "node_modules"));
  const { status } = spawnSync("buf", ["breaking", "--against", scratch], {
    cwd: root,
    stdio: "inherit",
  });
  rmSync(scratch, { recursive: true });
  process.stdout.write(
    `${status === 0 ? "ok    " : "FAILED"} buf breaking against ${against.slice(0, 12)}\n`,
  );
  process.exitCode = status ?? 1;
}
