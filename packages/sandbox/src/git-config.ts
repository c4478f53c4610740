import { join, resolve } from "node:path";
import { readRegularFile } from "./regular-file.ts";

const MAX_CONFIG_BYTES = 1024 * 1024;

/**
 * Lists the paths in a workspace from which the configuration of its repository takes commands.
 *
 * These are `core.hooksPath`, relative to the work tree, and `include.path`, relative to the configuration (git-config(1)). Sandboxed commands
 * cannot change that file, so it is the user's.
 */
export function configuredPaths(workspace: string): string[] {
  const git = join(workspace, ".git");
  const content = readRegularFile(join(git, "config"), MAX_CONFIG_BYTES);
  const lines = content instanceof Buffer ? content.toString().split("\n") : [];
  const paths = lines.flatMap((line) => {
    const [, key = "", value = ""] = /^\s*(?:\[[^\]]*\]\s*)?(path|hookspath)\s*=\s*"?(.*?)"?\s*$/i.exec(line) ?? [];
    return value === "" ? [] : [resolve(key.toLowerCase() === "path" ? git : workspace, value)];
  });
  return paths.filter((path) => path.startsWith(`${workspace}/`) && !path.startsWith(`${git}/`));
}
