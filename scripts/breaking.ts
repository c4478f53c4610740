/**
 * Compares the protos with those of an earlier commit: `main` on a branch, the commit before on `main` itself. Skips,
 * and says why, where there is nothing to compare with.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

function git(...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

function base(): string | undefined {
  const head = git("rev-parse", "HEAD");
  const candidates = ["origin/main", "main", "HEAD~1"].map((name) => git("rev-parse", "--verify", "--quiet", name));
  return candidates.find(
    (commit) => commit && commit !== head && git("cat-file", "-e", `${commit}:proto`) !== undefined,
  );
}

const against = base();
if (against === undefined) {
  process.stdout.write("SKIPPED buf breaking: there is no earlier commit with protos to compare with\n");
} else {
  const { status } = spawnSync("buf", ["breaking", "--against", `.git#ref=${against}`], {
    cwd: root,
    stdio: "inherit",
  });
  process.stdout.write(`${status === 0 ? "ok    " : "FAILED"} buf breaking against ${against.slice(0, 12)}\n`);
  process.exitCode = status ?? 1;
}
