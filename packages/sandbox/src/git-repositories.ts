import { lstatSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { gitlinksOf } from "./git-index.ts";
import { readRegularFile } from "./regular-file.ts";
import { SandboxError } from "./sandbox-error.ts";
import { realPath } from "./system-mounts.ts";

/** More than the longest path. */
const MAX_GIT_FILE_BYTES = 8192;

/**
 * Where the repositories lie, or would, that git asks in a workspace beside its `.git`: those of gitlinks, and those that a
 * `.git` file names in the workspace. Rejects with a `SandboxError` when a link that a command may change leads there.
 */
export async function repositoryPaths(workspace: string): Promise<string[]> {
  const gitlinks = (await gitlinksOf(workspace)).map((path) => join(workspace, path, ".git"));
  const named = [join(workspace, ".git"), ...gitlinks].flatMap((file) => namedRepository(file, workspace));
  return [...gitlinks, ...named];
}

/** The repository that a `.git` file names, when it lies in the workspace (gitrepository-layout(5)). */
function namedRepository(file: string, workspace: string): string[] {
  if (lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return [];
  const content = readRegularFile(file, MAX_GIT_FILE_BYTES);
  const named = content instanceof Buffer ? /^gitdir: (.+?)[\r\n]*$/s.exec(content.toString())?.[1] : undefined;
  if (named === undefined) return [];
  const path = resolve(dirname(file), named);
  const real = realPath(path) ?? path;
  const isInside = (each: string): boolean => each.startsWith(`${workspace}/`);
  if (isInside(path) && real !== path) throw throughLink(file, path);
  // What lies in `.git` is kept with it.
  return isInside(real) && !real.startsWith(join(workspace, ".git/")) ? [real] : [];
}

function throughLink(file: string, path: string): SandboxError {
  const problem = `${JSON.stringify(file)} names ${JSON.stringify(path)}, which goes through a link`;
  const remedy = 'name the place that it leads to, or choose sandbox "none"';
  return new SandboxError(problem, "cannot-confine", { remedy });
}
