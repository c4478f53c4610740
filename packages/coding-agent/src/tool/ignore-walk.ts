import { posix } from "node:path";
import { Code, DevtoolError } from "@devtool/server/agent";
import { IgnoreRules } from "./ignore-rules.ts";
import { Pace } from "./pace.ts";
import type { Workspace } from "./workspace.ts";

/** Options of a walk. */
export interface WalkOptions {
  readonly workspace: Workspace;
  /**
   * The directory to start in, or a single file, as a path relative to the
   * workspace.
   *
   * In a directory that is ignored itself, nothing is skipped, because the
   * caller named it.
   */
  readonly path: string;
  /** Whether to skip ignored files and directories. */
  readonly ignored: "skip" | "include";
  /**
   * A directory that is always skipped, as a path relative to the workspace.
   */
  readonly excluded?: string;
}

/** A visited directory. Paths are relative to the workspace. */
export interface WalkedDirectory {
  readonly path: string;
  /** The paths of its regular files, sorted. */
  readonly files: readonly string[];
}

/**
 * Visits a directory and its subdirectories depth first, in sorted order. Does
 * not follow links or enter `.git`.
 */
export class IgnoreWalk {
  readonly #options: WalkOptions;
  readonly #rules: IgnoreRules;
  #ignoredCount = 0;

  constructor(options: WalkOptions) {
    this.#options = options;
    this.#rules = new IgnoreRules(options.workspace);
  }

  /** The number of ignored files and directories that were skipped so far. */
  get ignoredCount(): number {
    return this.#ignoredCount;
  }

  /**
   * Yields each directory with its files. Iterate once: a second walk would
   * count the ignored files again.
   *
   * Lets other work run between entries (`Pace`). Throws `Code.NotFound` when
   * the path does not exist, and the reason of the signal when it aborts.
   */
  async *directories(signal: AbortSignal): AsyncIterable<WalkedDirectory> {
    const { workspace, path, ignored, excluded } = this.#options;
    const parent = posix.dirname(path);
    const siblings =
      path === "" ? [] : workspace.filesIn(parent === "." ? "" : parent);
    if (siblings.some(({ name }) => name === posix.basename(path))) {
      yield { path: parent, files: [path] };
      return;
    }
    if (!workspace.readDirectory(path)) {
      throw new DevtoolError(
        `path ${JSON.stringify(path)} does not exist`,
        Code.NotFound,
      );
    }
    const pace = new Pace(signal);
    const includesIgnored =
      ignored === "include" || (await this.#rules.ignoresTree(path, pace));
    const pending = [path];
    for (
      let directory = pending.pop();
      directory !== undefined;
      directory = pending.pop()
    ) {
      const files: string[] = [];
      const subdirectories: string[] = [];
      for (const entry of workspace.readDirectory(directory) ?? []) {
        await pace.rest();
        const entryPath =
          directory === "" ? entry.name : `${directory}/${entry.name}`;
        const isVisited =
          entry.name !== ".git" && (entry.isFile() || entry.isDirectory());
        if (!isVisited || entryPath === excluded) continue;
        const kind = entry.isFile() ? "file" : "directory";
        const isDependencies =
          kind === "directory" && entry.name === "node_modules";
        if (
          !includesIgnored &&
          (isDependencies || (await this.#rules.ignores(entryPath, kind)))
        ) {
          this.#ignoredCount++;
        } else {
          (kind === "file" ? files : subdirectories).push(entryPath);
        }
      }
      pending.push(...subdirectories.reverse());
      yield { path: directory, files };
    }
  }
}
