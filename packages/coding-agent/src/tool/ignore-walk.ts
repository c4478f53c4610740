import type { Dirent } from "node:fs";
import { posix } from "node:path";
import { Code, DevtoolError } from "@devtool/server/agent";
import { IgnoreRules } from "./ignore-rules.ts";
import { Pace } from "./pace.ts";
import type { Workspace } from "./workspace.ts";

/** What a walk goes over. */
export interface WalkOptions {
  readonly workspace: Workspace;
  /** The directory to begin in, or one file, as a path in the workspace. One that is ignored itself is walked whole: it was named. */
  readonly path: string;
  /** What becomes of ignored files and directories. */
  readonly ignored: "skip" | "include";
  /** A directory that is not walked in any case, as a path in the workspace. */
  readonly without?: string;
}

/** A directory without its own directories: the paths of its regular files in the workspace, sorted. */
export interface WalkedDirectory {
  readonly path: string;
  readonly files: readonly string[];
}

/** Goes over the directories below one, sorted and depth first; into no link and no `.git`. */
export class IgnoreWalk {
  readonly #options: WalkOptions;
  readonly #rules: IgnoreRules;
  #ignored = 0;

  constructor(options: WalkOptions) {
    this.#options = options;
    this.#rules = new IgnoreRules(options.workspace);
  }

  /** So many ignored files and directories were left out so far. */
  get ignored(): number {
    return this.#ignored;
  }

  /** Walks, with a rest for others now and then. Throws the signal's reason when it aborts, `Code.NotFound` when there is nothing. */
  async *directories(signal: AbortSignal): AsyncIterable<WalkedDirectory> {
    const { workspace, path, ignored, without } = this.#options;
    if (isFile(workspace, path)) return yield { path: posix.dirname(path), files: [path] };
    if (!workspace.readDirectory(path))
      throw new DevtoolError(`path ${JSON.stringify(path)} does not exist`, Code.NotFound);
    const pace = new Pace(signal);
    const includes = ignored === "include" || (await this.#rules.ignoresWay(path, pace));
    const open = [path];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const files: string[] = [];
      const directories: string[] = [];
      for (const entry of workspace.readDirectory(next) ?? []) {
        await pace.rest();
        const below = next === "" ? entry.name : `${next}/${entry.name}`;
        if (!isWalked(entry) || below === without) continue;
        if (!includes && this.#skips(entry, below)) this.#ignored++;
        else (entry.isFile() ? files : directories).push(below);
      }
      open.push(...directories.reverse());
      yield { path: next, files };
    }
  }

  #skips(entry: Dirent, path: string): boolean {
    if (entry.isFile()) return this.#rules.ignoresFile(path);
    return entry.name === "node_modules" || this.#rules.ignoresDirectory(path);
  }
}

function isFile(workspace: Workspace, path: string): boolean {
  const directory = posix.dirname(path);
  return (
    path !== "" &&
    workspace.filesIn(directory === "." ? "" : directory).some(({ name }) => name === posix.basename(path))
  );
}

function isWalked(entry: Dirent): boolean {
  return entry.name !== ".git" && (entry.isFile() || entry.isDirectory());
}
