import { readlinkSync, type Stats } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { realPath } from "@devtool/internal/real-path";
import { configuredPaths } from "./git-config.ts";
import { repositoryPaths } from "./git-repositories.ts";
import { isFilePlaceholder, isPlaceholder } from "./placeholder.ts";
import { statsOf } from "./regular-file.ts";
import type { GuardedLink, GuardedPlaces } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";

import { workTreesAround } from "./work-trees.ts";

/**
 * Settings in a workspace that agents and editors outside of the sandbox read
 * by themselves, and from which they run something: hooks, servers, plugins,
 * tasks.
 *
 * Commands cannot create the missing ones either.
 */
export const SETTINGS: readonly string[] = (
  ".devtool .gemini .claude .codex .cursor .windsurf .continue .roo .kiro .opencode .qwen .amazonq .junie .trae .factory " +
  ".kilocode .clinerules .augment .devin .agents .agent .vibe .goose .cline .iflow .crush .copilot .openhands .kimi " +
  ".crush.json .aider.conf.yml .mcp.json .github/hooks " +
  ".vscode .idea .zed .fleet .nova .helix .theia .devcontainer .devcontainer.json .mise"
).split(" ");
/**
 * Settings of the same kind that are guarded only where they exist.
 *
 * They have an effect only where a user set something up for them, such as
 * hooks of git, or empty ones would be in the way.
 */
export const SETTINGS_WHEN_PRESENT: readonly string[] = (
  ".husky .pre-commit-config.yaml lefthook.yml lefthook.yaml lefthook.toml lefthook.json .lefthook.yml .lefthook.yaml " +
  ".lefthook.toml .lefthook.json lefthook-local.yml lefthook-local.yaml .overcommit.yml mise.toml mise.local.toml " +
  ".mise.toml .mise.local.toml .config/mise.toml .config/mise opencode.json opencode.jsonc crush.json mcp.json"
).split(" ");

/**
 * Finds the guarded places of a workspace. One that commands can only read has
 * none.
 *
 * Rejects with a `SandboxError` for a workspace that is not given by its real
 * path, or whose repositories cannot be determined.
 */
export async function readGuardedPlaces(
  workspace: string,
  access: "read" | "write",
): Promise<GuardedPlaces> {
  if (realPath(workspace) !== workspace || workspace === "/") {
    const problem = `workspace ${JSON.stringify(workspace)} cannot be confined`;
    const remedy = "name a directory below / by its real path";
    throw new SandboxError(problem, "cannot-confine", { remedy });
  }
  if (access === "read") {
    return {
      workspace,
      present: [],
      missing: [],
      missingFiles: [],
      links: [],
      repositories: [],
      gitDirectories: [],
    };
  }
  const repositories = await repositoryPaths(workspace);
  const inWorkspace = (name: string): string => join(workspace, name);
  const links = linkedSettings(workspace);
  // The target of a dangling link is guarded, too.
  const targets = links
    .map(({ path, target }) => realPath(path) ?? resolve(dirname(path), target))
    .filter((path) => path.startsWith(join(workspace, sep)));
  const configured = configuredPaths(workspace);
  const missingFiles = configured.files.filter(
    (path) => !statsOf(path) || isFilePlaceholder(path),
  );
  const settings = [
    ...SETTINGS.map(inWorkspace),
    ...repositories,
    ...targets,
    ...configured.hooks,
    // Git takes an empty directory for no hooks, and refuses one in the place
    // of a file.
    ...missingFiles
      .map((path) => dirname(path))
      .filter((path) => path !== workspace && !statsOf(path)),
  ];
  const kept = [...SETTINGS_WHEN_PRESENT.map(inWorkspace), ...configured.files];
  const present = [inWorkspace(".git"), ...settings, ...kept].filter(isPresent);
  const missing = settings.flatMap(
    (path) => firstMissing(path, workspace) ?? [],
  );
  return {
    workspace,
    present: [...new Set(present)],
    missing: [...new Set(missing)].filter((path) => isDirectory(dirname(path))),
    missingFiles: [...new Set(missingFiles)].filter((path) =>
      isDirectory(dirname(path)),
    ),
    links,
    repositories,
    gitDirectories: gitDirectoriesOutside(workspace),
  };
}

/**
 * Returns whether a path is an entry of the workspace that is a setting, or the
 * directory of one.
 */
export function isTopSetting(path: string, workspace: string): boolean {
  return SETTINGS.some(
    (name) => join(workspace, name.split("/")[0] ?? "") === path,
  );
}

/** Lists the settings of a workspace that are symbolic links. */
function linkedSettings(workspace: string): GuardedLink[] {
  return [...SETTINGS, ...SETTINGS_WHEN_PRESENT].flatMap((name) => {
    const path = join(workspace, name);
    if (!statsOf(path)?.isSymbolicLink()) return [];
    return [{ path, target: readlinkSync(path) }];
  });
}

/**
 * Returns whether a path is a real file or directory that no sandbox made as a
 * placeholder, and leads through no link.
 */
function isPresent(path: string): boolean {
  return (
    isReal(statsOf(path)) &&
    !isPlaceholder(path) &&
    !isFilePlaceholder(path) &&
    realPath(path) === path
  );
}

/**
 * Lists the git directories outside a workspace that belong to the work trees
 * around it.
 */
function gitDirectoriesOutside(workspace: string): string[] {
  const directories = workTreesAround(workspace).flatMap((tree) => [
    tree.commonDirectory,
    tree.gitDirectory,
  ]);
  return [...new Set(directories)].filter(
    (path) => !isWithin(path, [workspace]),
  );
}

/**
 * Returns the missing guarded place that a path is or is in; undefined when
 * there is none.
 */
export function missingPlace(
  path: string,
  { missing }: GuardedPlaces,
): string | undefined {
  return missing.find((place) => isWithin(path, [place]));
}

/** Returns whether a path is one of these directories or is in one. */
export function isWithin(
  path: string,
  directories: readonly string[],
): boolean {
  return directories.some(
    (directory) =>
      path === directory ||
      path.startsWith(directory === "/" ? "/" : `${directory}/`),
  );
}

/** Returns whether a path is a directory and leads through no link. */
export function isDirectory(path: string): boolean {
  return realPath(path) === path && statsOf(path)?.isDirectory() === true;
}

/** Returns whether these are the stats of a regular file or a directory. */
export function isReal(stats: Stats | undefined): boolean {
  return stats !== undefined && (stats.isFile() || stats.isDirectory());
}

/**
 * Returns the first directory on the way from the workspace to a path that does
 * not exist, or the path itself; undefined when all exist.
 */
function firstMissing(path: string, workspace: string): string | undefined {
  const parent = dirname(path);
  const above =
    parent === workspace ? undefined : firstMissing(parent, workspace);
  if (above !== undefined) return above;
  return statsOf(path) === undefined || isPlaceholder(path) ? path : undefined;
}
