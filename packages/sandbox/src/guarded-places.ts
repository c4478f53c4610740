import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { configuredPaths } from "./git-config.ts";
import { repositoryPaths } from "./git-repositories.ts";
import { isPlaceholder } from "./placeholder.ts";
import type { GuardedLink, GuardedPlaces } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";
import { realPath } from "./system-mounts.ts";

/**
 * Places in a workspace that agents and editors outside the sandbox read by themselves and that say what runs: settings with
 * hooks and servers, plugins, tasks. Commands may not make them, either.
 */
export const SETTINGS: readonly string[] = (
  ".devtool .gemini .claude .codex .cursor .windsurf .continue .roo .kiro .opencode .qwen .amazonq .junie .trae .factory " +
  ".kilocode .clinerules .augment .devin .agents .agent .crush.json .aider.conf.yml .mcp.json .github/hooks " +
  ".vscode .idea .zed .fleet .nova .helix .theia .devcontainer .devcontainer.json .mise"
).split(" ");
/**
 * Places of the same kind that count only where something outside was set up for them (hooks of git, a trusted directory),
 * or whose names would be in the way: kept when they are there.
 */
export const SETTINGS_WHEN_PRESENT: readonly string[] = (
  ".husky .pre-commit-config.yaml lefthook.yml lefthook.yaml lefthook.toml lefthook.json .lefthook.yml .lefthook.yaml " +
  ".lefthook.toml .lefthook.json lefthook-local.yml lefthook-local.yaml .overcommit.yml mise.toml mise.local.toml " +
  ".mise.toml .mise.local.toml .config/mise.toml .config/mise opencode.json opencode.jsonc crush.json"
).split(" ");

/**
 * Reads what of a workspace is guarded; of one that commands only read nothing has to be. Rejects with a `SandboxError` for
 * a workspace that is not named by its real path, or whose repositories cannot be told.
 */
export async function readGuardedPlaces(workspace: string, access: "read" | "write"): Promise<GuardedPlaces> {
  assertCanonical(workspace);
  if (access === "read") return { workspace, present: [], missing: [], links: [], repositories: [] };
  const repositories = await repositoryPaths(workspace);
  const inWorkspace = (name: string): string => join(workspace, name);
  const links = [...SETTINGS, ...SETTINGS_WHEN_PRESENT].map(inWorkspace).flatMap(linkAt);
  const targets = links.map(targetOf).filter((path) => path.startsWith(`${workspace}/`));
  const settings = [...SETTINGS.map(inWorkspace), ...repositories, ...targets];
  const kept = [...SETTINGS_WHEN_PRESENT.map(inWorkspace), ...configuredPaths(workspace)];
  const present = [join(workspace, ".git"), ...settings, ...kept].filter(
    (path) => isReal(statsOf(path)) && !isPlaceholder(path) && realPath(path) === path,
  );
  const missing = settings.flatMap((path) => firstMissing(path, workspace) ?? []);
  return {
    workspace,
    present: [...new Set(present)],
    missing: [...new Set(missing)].filter((path) => isDirectory(dirname(path))),
    links,
    repositories,
  };
}

/** The place for settings that a path is or lies in, when it is not there: a command may make it when it is granted. */
export function missingPlace(path: string, { missing }: GuardedPlaces): string | undefined {
  return missing.find((place) => isWithin(path, [place]));
}

/** Whether a path is one of these directories or lies in one. */
export function isWithin(path: string, directories: readonly string[]): boolean {
  return directories.some(
    (directory) => path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`),
  );
}

/** Whether a directory is there by this very name, through no link. */
export function isDirectory(path: string): boolean {
  return realPath(path) === path && statsOf(path)?.isDirectory() === true;
}

/** Whether it is a file or a directory, and no link. */
export function isReal(stats: Stats | undefined): boolean {
  return stats !== undefined && (stats.isFile() || stats.isDirectory());
}

/** What is known of a path, through no link at its end; undefined when there is nothing. */
export function statsOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function linkAt(path: string): GuardedLink[] {
  return statsOf(path)?.isSymbolicLink() ? [{ path, target: readlinkSync(path) }] : [];
}

/** Where a link leads, or would. */
function targetOf({ path, target }: GuardedLink): string {
  return realPath(path) ?? resolve(dirname(path), target);
}

/** The path, or the nearest directory above it in the workspace that is not there; undefined when it is there. */
function firstMissing(path: string, workspace: string): string | undefined {
  const parent = dirname(path);
  const above = parent === workspace ? undefined : firstMissing(parent, workspace);
  if (above !== undefined) return above;
  return statsOf(path) === undefined || isPlaceholder(path) ? path : undefined;
}

function assertCanonical(workspace: string): void {
  if (realPath(workspace) === workspace && workspace !== "/") return;
  throw new SandboxError(`workspace ${JSON.stringify(workspace)} cannot be confined`, "cannot-confine", {
    remedy: "name a directory below / by its real path",
  });
}
