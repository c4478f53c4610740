import { homedir, userInfo } from "node:os";
import { dirname, resolve } from "node:path";
import { type GitSetting, parseGitConfig } from "./git-config-file.ts";
import { readRegularFile } from "./regular-file.ts";
import { SandboxError } from "./sandbox-error.ts";

const MAX_CONFIG_BYTES = 1024 * 1024;
/** Maximum depth of files that include each other; git refuses more. */
const MAX_INCLUDE_DEPTH = 10;
/**
 * The settings that name further files: `include.path`, and
 * `includeIf.<condition>.path`.
 */
const INCLUDE = /^include(if\..*)?\.path$/s;

/**
 * Reads the settings of one configuration file of git; none if there is no
 * file.
 *
 * Throws a `SandboxError` for a file that git refuses, or that is too large:
 * what it says would be unknown.
 */
export function readGitSettings(file: string): readonly GitSetting[] {
  const content = readRegularFile(file, MAX_CONFIG_BYTES);
  if (content === undefined) return [];
  if (content === "too large") {
    throw cannotRead(file, `has more than ${MAX_CONFIG_BYTES} bytes`);
  }
  const { settings, brokenLine } = parseGitConfig(content.toString());
  if (brokenLine !== undefined) {
    throw cannotRead(file, `is not valid in line ${brokenLine}`);
  }
  return settings;
}

/**
 * Lists a configuration file and those that it includes under any condition,
 * each once, by their paths. They may be missing.
 */
export function includedFiles(file: string): string[] {
  const found = new Set<string>();
  const collect = (path: string, depth: number): void => {
    if (found.has(path) || depth > MAX_INCLUDE_DEPTH) return;
    found.add(path);
    for (const { key, value } of readGitSettings(path)) {
      if (INCLUDE.test(key) && value) {
        collect(resolve(dirname(path), expandHome(value, path)), depth + 1);
      }
    }
  };
  collect(file, 0);
  return [...found];
}

/**
 * Returns a path of a configuration file with its `~/` or `~user/` replaced.
 * Throws for the home directory of another user.
 */
export function expandHome(value: string, file: string): string {
  const [, user] = /^~([^/]*)/.exec(value) ?? [];
  if (user === undefined) return value;
  if (user !== "" && user !== userInfo().username) {
    throw cannotRead(
      file,
      `names ${JSON.stringify(value)}, in the home directory of another user`,
    );
  }
  return homedir() + value.slice(1 + user.length);
}

function cannotRead(file: string, why: string): SandboxError {
  const problem = `the workspace cannot be confined: ${JSON.stringify(file)} ${why}`;
  return new SandboxError(problem, "cannot-confine", {
    remedy: 'change it, or choose sandbox "none"',
  });
}
