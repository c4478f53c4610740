import { posix } from "node:path";
import { trackedFiles, workTreesAround } from "@devtool/sandbox";
import ignore, { type Ignore } from "ignore";
import type { Pace } from "./pace.ts";
import { Workspace } from "./workspace.ts";

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
 * needed, those above the workspace from the root of its repository down, and
 * `.git/info/exclude`. Does not read the user's git configuration. The rules
 * only hide files; they do not grant access to any.
 */
export class IgnoreRules {
  readonly #workspace: Workspace;
  readonly #rules = new Map<string, DirectoryRules>();
  #outer: OuterRules | undefined;
  /** The tracked files and the directories above them. */
  #tracked: Promise<ReadonlySet<string>> | undefined;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /**
   * Returns whether a file or directory is ignored, provided that the
   * directories above it are not.
   *
   * As for git, a tracked file is not ignored, nor is a directory with one, but
   * `.devtoolignore` hides these too. `path` is relative to the workspace.
   */
  async ignores(path: string, kind: "file" | "directory"): Promise<boolean> {
    if (!this.#matches(path, kind, "all")) return false;
    if (this.#matches(path, kind, "own")) return true;
    this.#tracked ??= this.#readTracked();
    return !(await this.#tracked).has(this.#outerRules.prefix + path);
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
      if (await this.ignores(directory, "directory")) return true;
    }
    return false;
  }

  /** Whether the rules of all files, or of our own ones, match a path. */
  #matches(
    path: string,
    kind: "file" | "directory",
    which: "all" | "own",
  ): boolean {
    const directories = directoriesAbove(path);
    if (directories.length > MAX_DEPTH) return false;
    const end = kind === "directory" ? "/" : "";
    let ignored = this.#outerRules.levels.reduce(
      (before, { prefix, rules }) =>
        isIgnored(rules[which], `${prefix}${path}${end}`) ?? before,
      false,
    );
    for (const directory of directories) {
      const relativePath =
        directory === "" ? path : path.slice(directory.length + 1);
      const rules = this.#rulesOf(directory)[which];
      ignored = isIgnored(rules, relativePath + end) ?? ignored;
    }
    return ignored;
  }

  get #outerRules(): OuterRules {
    this.#outer ??= readOuterRules(this.#workspace.root);
    return this.#outer;
  }

  async #readTracked(): Promise<ReadonlySet<string>> {
    const { tree } = this.#outerRules;
    const known = new Set<string>();
    try {
      for (const file of tree ? await trackedFiles(tree) : []) {
        known.add(file);
        for (
          let directory = posix.dirname(file);
          directory !== "." && !known.has(directory);
          directory = posix.dirname(directory)
        ) {
          known.add(directory);
        }
      }
    } catch {
      // Without a readable index, the rules apply to every file.
    }
    return known;
  }

  #rulesOf(directory: string): DirectoryRules {
    const known = this.#rules.get(directory);
    if (known) return known;
    const parent = directory.includes("/") ? posix.dirname(directory) : "";
    const remainingCost =
      directory === ""
        ? this.#outerRules.remainingCost
        : this.#rulesOf(parent).remainingCost;
    const rules = readRules(this.#workspace, directory, remainingCost);
    this.#rules.set(directory, rules);
    return rules;
  }
}

/** The rules in the files of one directory. */
interface DirectoryRules {
  /** Undefined when there are none. */
  readonly all: Ignore | undefined;
  /** Those of `.devtoolignore` alone. */
  readonly own: Ignore | undefined;
  /** The maximum cost of the rules of a subdirectory. */
  readonly remainingCost: number;
}

/** The rules from outside the files of a workspace, outermost first. */
interface OuterRules {
  readonly tree: ReturnType<typeof workTreesAround>[number] | undefined;
  /** The path of the workspace in its repository, with `/` at its end. */
  readonly prefix: string;
  readonly levels: readonly {
    /** The path of the workspace relative to these rules, likewise. */
    readonly prefix: string;
    readonly rules: DirectoryRules;
  }[];
  readonly remainingCost: number;
}

/**
 * Reads the rules of the repository that a workspace is or lies in. None apply
 * if they ignore the workspace itself, because its user named it.
 */
function readOuterRules(workspace: string): OuterRules {
  let tree: OuterRules["tree"];
  try {
    [tree] = workTreesAround(workspace);
  } catch {
    // A repository that git cannot read either has no rules.
  }
  const root = tree?.roots[0] ?? workspace;
  const path = posix.relative(root, workspace);
  const prefix = path === "" ? "" : `${path}/`;
  const none = { tree, prefix, levels: [], remainingCost: MAX_COST };
  if (!tree) return none;
  using common = new Workspace(tree.commonDirectory);
  using repository = new Workspace(root);
  const excluded = readRuleLines(common, "info/exclude");
  let rules = compileRules(excluded, [], MAX_COST);
  const levels = [{ prefix, rules }];
  for (const directory of prefix === "" ? [] : directoriesAbove(path)) {
    rules = readRules(repository, directory, rules.remainingCost);
    const below = directory === "" ? 0 : directory.length + 1;
    levels.push({ prefix: prefix.slice(below), rules });
  }
  const ignoresWorkspace = levels.reduce(
    (before, level) => isIgnored(level.rules.all, level.prefix) ?? before,
    false,
  );
  return ignoresWorkspace
    ? none
    : { ...none, levels, remainingCost: rules.remainingCost };
}

/** Returns whether rules ignore a path; undefined where none of them is met. */
function isIgnored(
  rules: Ignore | undefined,
  path: string,
): boolean | undefined {
  const result = path === "" ? undefined : rules?.test(path);
  return result?.ignored || result?.unignored ? result.ignored : undefined;
}

/** Reads the rule files of a directory, up to a cost. */
function readRules(
  workspace: Workspace,
  directory: string,
  maxCost: number,
): DirectoryRules {
  if (maxCost < MIN_COST) {
    return { all: undefined, own: undefined, remainingCost: maxCost };
  }
  const [git, own] = RULE_FILES.map((name) =>
    readRuleLines(workspace, posix.join(directory, name)),
  );
  return compileRules(git ?? [], own ?? [], maxCost);
}

function compileRules(
  git: readonly string[],
  own: readonly string[],
  maxCost: number,
): DirectoryRules {
  let remainingCost = maxCost;
  const isAffordable = (line: string): boolean => {
    const cost = estimateCost(line);
    if (cost > remainingCost) return false;
    remainingCost -= cost;
    return true;
  };
  const affordableGit = git.filter(isAffordable);
  const affordableOwn = own.filter(isAffordable);
  const compile = (lines: readonly string[]): Ignore | undefined =>
    lines.length === 0 ? undefined : ignore({ ignorecase: false }).add(lines);
  return {
    all: compile([...affordableGit, ...affordableOwn]),
    own: compile(affordableOwn),
    remainingCost,
  };
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
