import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Returns the trimmed output of git; undefined when git fails. */
export function git(...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync("git", args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  return status === 0 ? stdout.trim() : undefined;
}

/**
 * The commit to compare with: `main` on a branch, the commit before on `main`
 * itself. Undefined where none has the path.
 */
export function earlierCommit(path: string): string | undefined {
  const head = git("rev-parse", "HEAD");
  const candidates = ["origin/main", "main", "HEAD~1"].map((name) =>
    git("rev-parse", "--verify", "--quiet", name),
  );
  return candidates.find(
    (commit) =>
      commit &&
      commit !== head &&
      git("cat-file", "-e", `${commit}:${path}`) !== undefined,
  );
}

/**
 * The commit that this tree is compared with: where it left the commit that
 * `DEVTOOL_CI_BASE` names, for a push of several, or else `earlierCommit`.
 */
export function baseCommit(): string | undefined {
  const against = process.env.DEVTOOL_CI_BASE ?? earlierCommit("package.json");
  return against === undefined ? undefined : git("merge-base", "HEAD", against);
}
