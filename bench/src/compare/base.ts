import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { git } from "../../../scripts/earlier-commit.ts";
import { ROOT } from "../subject.ts";

/** A repository at another commit, built. */
export interface Base extends Disposable {
  readonly directory: string;
  /** What it is, for a reader. */
  readonly name: string;
}

/** Says why there is no base to compare with. */
export class BaseError extends Error {}

/**
 * Builds a commit in a worktree of its own, which is removed with it. A
 * directory is a repository that is already built, and is kept.
 *
 * @throws BaseError when the commit is not in this clone, or does not build
 */
export function openBase(named: string): Base {
  if (existsSync(join(named, "packages/cli/dist/main.js"))) {
    const directory = resolve(named);
    return { directory, name: directory, [Symbol.dispose]: () => undefined };
  }
  const commit = git("rev-parse", "--verify", "--quiet", `${named}^{commit}`);
  if (!commit) {
    throw new BaseError(
      `commit "${named}" is not in this clone: fetch it, or deepen the clone`,
    );
  }
  const directory = mkdtempSync(join(tmpdir(), "devtool-base-"));
  const close = (): void => {
    rmSync(directory, { recursive: true, force: true });
    git("worktree", "prune");
  };
  try {
    run(ROOT, "git", ["worktree", "add", "--detach", directory, commit]);
    run(directory, "pnpm", INSTALL);
    run(directory, "pnpm", BUILD);
  } catch (reason) {
    close();
    throw reason;
  }
  const name = commit.slice(0, 12);
  return { directory, name, [Symbol.dispose]: close };
}

const INSTALL = ["install", "--frozen-lockfile", "--prefer-offline"];
// The cache of Turborepo is that of the repository, so a base is built once.
const BUILD = ["exec", "turbo", "run", "build", "--filter=@devtool/cli"];

function run(cwd: string, command: string, args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    env: { ...process.env, CI: "true", TURBO_TELEMETRY_DISABLED: "1" },
  });
  if (status === 0) return;
  const tail = `${stdout}${stderr}`.trim().split("\n").slice(-10).join("\n");
  throw new BaseError(
    `"${command} ${args.join(" ")}" fails at the base: ${error ?? tail}`,
  );
}
