import { posix } from "node:path";
import ignore, { type Ignore } from "ignore";
import type { Workspace } from "./workspace.ts";

/** The files that say what to ignore, in each directory; what a later one says counts more. */
const RULE_FILES = [".gitignore", ".devtoolignore"] as const;
/** So much of a rule file is read, and so many rules count: they are a hostile repository's words too. */
const MAX_RULE_BYTES = 256 * 1024;
const MAX_RULES = 2000;

/**
 * What a workspace asks to be left out of listings and searches: `.gitignore` and `.devtoolignore` of each directory, read
 * when they are first needed. They hide, and grant nothing; no rule of the user's git configuration is read.
 */
export class IgnoreRules {
  readonly #workspace: Workspace;
  readonly #rules = new Map<string, Ignore | undefined>();

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

  /** Tells whether a directory is ignored, or one of those that it lies in. The workspace itself never is. */
  ignoresWay(path: string): boolean {
    const segments = path === "" ? [] : path.split("/");
    return segments.some((_segment, index) => this.ignoresDirectory(segments.slice(0, index + 1).join("/")));
  }

  #ignores(path: string, asked: string): boolean {
    let ignored = false;
    for (const directory of directoriesAbove(path)) {
      const verdict = this.#rulesOf(directory)?.test(directory === "" ? asked : asked.slice(directory.length + 1));
      if (verdict?.ignored) ignored = true;
      else if (verdict?.unignored) ignored = false;
    }
    return ignored;
  }

  #rulesOf(directory: string): Ignore | undefined {
    if (this.#rules.has(directory)) return this.#rules.get(directory);
    const lines = RULE_FILES.flatMap((name) => readRules(this.#workspace, posix.join(directory, name)));
    const rules = lines.length === 0 ? undefined : ignore({ ignorecase: false }).add(lines);
    this.#rules.set(directory, rules);
    return rules;
  }
}

/** The directories that a path lies in, from the workspace down. */
function directoriesAbove(path: string): string[] {
  const segments = path.split("/").slice(0, -1);
  return ["", ...segments.map((_segment, index) => segments.slice(0, index + 1).join("/"))];
}

function readRules(workspace: Workspace, path: string): string[] {
  try {
    using file = workspace.openFile(path);
    const lines = file?.readNext(MAX_RULE_BYTES).toString("utf8").split("\n") ?? [];
    return lines.filter(isCheap).slice(0, MAX_RULES);
  } catch {
    // A link or a pipe in the place of a rule file says nothing.
    return [];
  }
}

/**
 * Tells whether a rule can be matched quickly. Rules become regular expressions that backtrack over each star, so that
 * many of them in one name could hold the server for hours.
 */
function isCheap(line: string): boolean {
  const stars = line.split("/").map((segment) => segment.split(/\*+/).length - 1);
  return line.length <= 1000 && Math.max(...stars) <= 3 && stars.filter((count) => count > 0).length <= 6;
}
