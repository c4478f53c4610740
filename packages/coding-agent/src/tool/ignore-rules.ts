import { posix } from "node:path";
import ignore, { type Ignore } from "ignore";
import type { Pace } from "./pace.ts";
import type { Workspace } from "./workspace.ts";

/** The files that say what to ignore, in each directory; what a later one says counts more. */
const RULE_FILES = [".gitignore", ".devtoolignore"] as const;
/** The share of a rule file that is read: it is a hostile repository's words too. */
const MAX_RULE_BYTES = 256 * 1024;
/** Paths with more segments are held against no rule. */
const MAX_DEPTH = 64;
const MAX_NAME_LENGTH = 255;
/**
 * The steps that matching one path may take at worst, over all rules of its directories, about a tenth of a second: rules
 * beyond do not count. Each rule costs at least `MIN_COST`, which bounds their number.
 */
const MAX_COST = 40_000_000;
const MIN_COST = 20_000;

/**
 * What a workspace asks to be left out of listings and searches: `.gitignore` and `.devtoolignore` of each directory, read
 * when they are first needed. They hide, and grant nothing; no rule of the user's git configuration is read.
 */
export class IgnoreRules {
  readonly #workspace: Workspace;
  readonly #rules = new Map<string, DirectoryRules>();

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /** Tells whether a file is ignored whose directories are not. Takes its path in the workspace. */
  ignoresFile(path: string): boolean {
    return this.#ignores(path, path);
  }

  /** Tells whether a directory is ignored whose own directories are not. */
  ignoresDirectory(path: string): boolean {
    return this.#ignores(path, `${path}/`);
  }

  /** Tells whether a directory is ignored, or one of those that it lies in, at its own pace. The workspace itself never is. */
  async ignoresWay(path: string, pace: Pace): Promise<boolean> {
    for (const directory of path === "" ? [] : [...directoriesAbove(path).slice(1), path].slice(0, MAX_DEPTH)) {
      await pace.rest();
      if (this.ignoresDirectory(directory)) return true;
    }
    return false;
  }

  #ignores(path: string, asked: string): boolean {
    let ignored = false;
    const directories = directoriesAbove(path);
    if (directories.length > MAX_DEPTH) return false;
    for (const directory of directories) {
      const verdict = this.#rulesOf(directory).rules?.test(
        directory === "" ? asked : asked.slice(directory.length + 1),
      );
      if (verdict?.ignored) ignored = true;
      else if (verdict?.unignored) ignored = false;
    }
    return ignored;
  }

  #rulesOf(directory: string): DirectoryRules {
    const known = this.#rules.get(directory);
    if (known) return known;
    const left = directory === "" ? MAX_COST : this.#rulesOf(parentOf(directory)).left;
    const read = readRules(this.#workspace, directory, left);
    this.#rules.set(directory, read);
    return read;
  }
}

/** The rules of one directory. */
interface DirectoryRules {
  /** Undefined when there are none. */
  readonly rules: Ignore | undefined;
  /** The steps that rules of the directories in it may take. */
  readonly left: number;
}

/** The directories that a path lies in, from the workspace down. */
function directoriesAbove(path: string): string[] {
  const segments = path.split("/").slice(0, -1);
  return ["", ...segments.map((_segment, index) => segments.slice(0, index + 1).join("/"))];
}

function parentOf(directory: string): string {
  return directory.includes("/") ? posix.dirname(directory) : "";
}

function readRules(workspace: Workspace, directory: string, maxCost: number): DirectoryRules {
  let left = maxCost;
  const lines = RULE_FILES.flatMap((name) =>
    left < MIN_COST ? [] : readLines(workspace, posix.join(directory, name)),
  );
  const affordable = lines.filter((line) => {
    const cost = costOf(line);
    if (cost > left) return false;
    left -= cost;
    return true;
  });
  return { rules: affordable.length === 0 ? undefined : ignore({ ignorecase: false }).add(affordable), left };
}

function readLines(workspace: Workspace, path: string): string[] {
  try {
    using file = workspace.openFile(path);
    const lines = file?.readNext(MAX_RULE_BYTES).toString("utf8").split("\n") ?? [];
    return lines.filter((line) => line.length <= 1000 && /^[^#\r]/.test(line));
  } catch {
    // A link or a pipe in the place of a rule file says nothing.
    return [];
  }
}

/**
 * Estimates the steps of matching a rule. Rules become regular expressions that backtrack: each star of a segment over the
 * characters of a name, each `**` over the segments of a path.
 */
function costOf(rule: string): number {
  const segments = rule.split("/");
  const names = segments.map((segment) =>
    segment === "**" ? 1 : ways(MAX_NAME_LENGTH, segment.split(/\*+/).length - 1),
  );
  const wide = ways(MAX_DEPTH, segments.filter((segment) => segment === "**").length);
  return Math.max(
    MIN_COST,
    names.reduce((product, each) => product * each, wide),
  );
}

/** The number of ways to choose places for some wildcards. */
function ways(places: number, wildcards: number): number {
  let count = 1;
  for (let index = 1; index <= wildcards; index++) count *= places / index;
  return count;
}
