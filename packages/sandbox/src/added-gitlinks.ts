import { readdirSync } from "node:fs";
import { join } from "node:path";
import { realPath } from "@devtool/internal/real-path";
import { findGitlinks } from "./git-index.ts";
import { readGitSettings } from "./git-settings.ts";
import { isWithin } from "./guarded-places.ts";
import { statsOf } from "./regular-file.ts";
import type { SandboxAccess, TakenPlace } from "./sandbox.ts";

import { setAside } from "./watched-places.ts";
import { workTreeAt, workTreesAround } from "./work-trees.ts";

/** The settings of a repository that name no program and no further file. */
const PLAIN: readonly RegExp[] = [
  /^core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|worktree|autocrlf|eol|safecrlf)$/,
  /^(user\.(name|email)|extensions\.(objectformat|refstorage))$/,
  /^(remote\..*\.(url|pushurl|fetch)|branch\..*\.(remote|merge|rebase)|submodule\..*\.(url|active))$/s,
];

/**
 * Returns a function that renames the configuration and hooks that would make
 * git outside of the sandbox run programs, in the repositories at gitlinks that
 * a command has added to an index which it may write: `git status` looks into
 * each. It is called when the command has ended, and returns what it renamed.
 *
 * An index that can no longer be read is renamed, too: what git would look into
 * is unknown.
 */
export async function watchGitlinks(
  access: SandboxAccess,
): Promise<() => Promise<readonly TakenPlace[]>> {
  const { workspace, writable } = access;
  const before = new Set(await findGitlinks(workspace));
  return async () => {
    const after = await findGitlinks(workspace).catch(() => undefined);
    const places = after
      ? after
          .filter((path) => !before.has(path))
          .flatMap((path) => armedPlaces(join(workspace, path)))
      : workTreesAround(workspace).map(({ gitDirectory }) =>
          join(gitDirectory, "index"),
        );
    return places
      .filter((path) => isWithin(path, [workspace, ...writable]))
      .flatMap((path) => {
        const keptAs = setAside(path);
        return keptAs === undefined ? [] : [{ path, keptAs }];
      });
  };
}

/** Lists what makes git run programs in the repository of a work tree. */
function armedPlaces(directory: string): string[] {
  let repository: { gitDirectory: string; commonDirectory: string } | undefined;
  try {
    repository = workTreeAt(directory);
  } catch {
    // Its configuration cannot be read.
    const path = realPath(join(directory, ".git"));
    repository = path
      ? { gitDirectory: path, commonDirectory: path }
      : undefined;
  }
  if (!repository) return [];
  const { gitDirectory, commonDirectory } = repository;
  const files = new Set([
    join(commonDirectory, "config"),
    join(gitDirectory, "config.worktree"),
  ]);
  const hooks = join(commonDirectory, "hooks");
  return [
    ...[...files].filter((file) => !isPlain(file)),
    ...(hasHooks(hooks) ? [hooks] : []),
  ];
}

function isPlain(file: string): boolean {
  const stats = statsOf(file);
  if (!stats) return true;
  if (!stats.isFile()) return false;
  try {
    return readGitSettings(file).every(({ key }) =>
      PLAIN.some((plain) => plain.test(key)),
    );
  } catch {
    return false;
  }
}

function hasHooks(directory: string): boolean {
  try {
    return readdirSync(directory).some((name) => !name.endsWith(".sample"));
  } catch {
    return statsOf(directory) !== undefined;
  }
}
