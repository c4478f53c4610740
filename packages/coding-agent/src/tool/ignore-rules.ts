import { posix } from "node:path";
import ignore, { type Ignore } from "ignore";
import type { Pace } from "./pace.ts";
import type { Workspace } from "./workspace.ts";

/** The names of rule files, in ascending order of precedence. */
const RULE_FILES = [".gitignore", ".devtoolignore"] as const;
/**
 * The maximum number of bytes of a rule file that are read. The repository may
 * be hostile.
 */
const MAX_RULE_BYTES = 256 * 1024;
/** The maximum number of segments of a path. Longer paths are never ignored. */
const MAX_DEPTH = 64;
const MAX_NAME_LENGTH = 255;
/**
 * The maximum cost of matching one path, in steps, over all rules of its
 * directories: about a tenth of a second. Rules beyond it are ignored.
 */
const MAX_COST = 40_000_000;

/** The minimum cost of one rule, which limits their number. */
const MIN_COST = 20_000;

/**
 * The rules of a workspace for paths to leave out of listings and searches.
 *
 * Reads `.gitignore` and `.devtoolignore` of each directory when they are first
 * needed. Does not read the user's git configuration. The rules only hide
 * files; they do not grant access to any.
 */
export class IgnoreRules {
  readonly #workspace: Workspace;
  readonly #rules = new Map<string, DirectoryRules>();

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /**
   * Returns whether a file or directory is ignored, provided that the
   * directories above it are not.
   *
   * `path` is relative to the workspace.
   */
  ignores(path: string, kind: "file" | "directory"): boolean {
    const directories = directoriesAbove(path);
    if (directories.length > MAX_DEPTH) return false;
    let ignored = false;
    for (const directory of directories) {
      const relativePath =
        directory === "" ? path : path.slice(directory.length + 1);
      const rules = this.#rulesOf(directory).rules;
      const result = rules?.test(
        kind === "directory" ? `${relativePath}/` : relativePath,
      );
      if (result?.ignored) {
        ignored = true;
      } else if (result?.unignored) {
        ignored = false;
      }
    }
    return ignored;
  }

  /**
   * Returns whether a directory or one above it is ignored. The workspace
   * itself never is.
   */
  async ignoresTree(path: string, pace: Pace): Promise<boolean> {
    if (path === "") return false;
    for (const directory of [...directoriesAbove(path).slice(1), path].slice(
      0,
      MAX_DEPTH,
    )) {
      await pace.rest();
      if (this.ignores(directory, "directory")) return true;
    }
    return false;
  }

  #rulesOf(directory: string): DirectoryRules {
    const known = this.#rules.get(directory);
    if (known) return known;
    const parent = directory.includes("/") ? posix.dirname(directory) : "";
    let remainingCost =
      directory === "" ? MAX_COST : this.#rulesOf(parent).remainingCost;
    const files = remainingCost < MIN_COST ? [] : RULE_FILES;
    const lines = files.flatMap((name) =>
      readRuleLines(this.#workspace, posix.join(directory, name)),
    );
    const affordable = lines.filter((line) => {
      const cost = estimateCost(line);
      if (cost > remainingCost) return false;
      remainingCost -= cost;
      return true;
    });
    const rules =
      affordable.length === 0
        ? undefined
        : ignore({ ignorecase: false }).add(affordable);
    this.#rules.set(directory, { rules, remainingCost });
    return { rules, remainingCost };
  }
}

interface DirectoryRules {
  /** Undefined when there are none. */
  readonly rules: Ignore | undefined;
  /** The maximum cost of the rules of a subdirectory. */
  readonly remainingCost: number;
}

/** Lists the directories above a path, from the workspace down. */
function directoriesAbove(path: string): string[] {
  const segments = path.split("/").slice(0, -1);
  return [
    "",
    ...segments.map((_segment, index) =>
      segments.slice(0, index + 1).join("/"),
    ),
  ];
}

function readRuleLines(workspace: Workspace, path: string): string[] {
  try {
    using file = workspace.openFile(path);
    const lines =
      file?.readNext(MAX_RULE_BYTES).toString("utf8").split("\n") ?? [];
    return lines.filter((line) => line.length <= 1000 && /^[^#\r]/.test(line));
  } catch {
    // A link or a pipe in place of a rule file has no rules.
    return [];
  }
}

/**
 * Estimates the number of steps to match a rule in the worst case.
 *
 * A rule becomes a regular expression that backtracks: each `*` of a segment
 * over the characters of a name, and each `**` over the segments of a path.
 */
function estimateCost(rule: string): number {
  const segments = rule.split("/");
  let cost = combinations(
    MAX_DEPTH,
    segments.filter((segment) => segment === "**").length,
  );
  for (const segment of segments) {
    if (segment !== "**") {
      cost *= combinations(MAX_NAME_LENGTH, segment.split(/\*+/).length - 1);
    }
  }
  return Math.max(MIN_COST, cost);
}

/** Returns the approximate number of ways to place wildcards. */
function combinations(places: number, wildcards: number): number {
  let count = 1;
  for (let index = 1; index <= wildcards; index++) count *= places / index;
  return count;
}
