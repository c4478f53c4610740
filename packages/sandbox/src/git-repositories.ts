import { lstatSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { findGitlinks } from "./git-index.ts";
import { readRegularFile } from "./regular-file.ts";
import { SandboxError } from "./sandbox-error.ts";
import { realPath } from "./system-mounts.ts";

/** Maximum size of a `.git` file in bytes: more than the longest path. */
const MAX_GIT_FILE_BYTES = 8192;

/**
 * Lists the repositories in a workspace that git looks into beside its `.git`, even if they do not exist.
 *
 * These are the ones of gitlinks, and those that a `.git` file names. Rejects with a `SandboxError` when a link that a command may change
 * leads to one.
 */
export async function repositoryPaths(workspace: string): Promise<string[]> {
  const gitlinks = (await findGitlinks(workspace)).map((path) => join(workspace, path, ".git"));
  const named = [join(workspace, ".git"), ...gitlinks].flatMap((file) => namedRepository(file, workspace));
  return [...gitlinks, ...named];
}

/** Returns the repository that a `.git` file names, if it is in the workspace and not in its `.git` (gitrepository-layout(5)). */
function namedRepository(file: string, workspace: string): string[] {
  if (lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return [];
  const content = readRegularFile(file, MAX_GIT_FILE_BYTES);
  const named = content instanceof Buffer ? /^gitdir: (.+?)[\r\n]*$/s.exec(content.toString())?.[1] : undefined;
  if (named === undefined) return [];
  const path = resolve(dirname(file), named);
  const real = realPath(path) ?? path;
  const isInside = (each: string): boolean => each.startsWith(`${workspace}/`);
  if (isInside(path) && real !== path) {
    const problem = `${JSON.stringify(file)} names ${JSON.stringify(path)}, which goes through a link`;
    const remedy = 'name the place that it leads to, or choose sandbox "none"';
    throw new SandboxError(problem, "cannot-confine", { remedy });
  }
  return isInside(real) && !real.startsWith(join(workspace, ".git/")) ? [real] : [];
}
