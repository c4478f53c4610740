import { z } from "zod";
import { everyFile, FileFilter } from "../file-access.ts";
import { IgnoreWalk } from "../ignore-walk.ts";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import { compileGlob, type GlobPattern } from "./glob-pattern.ts";
import { INCLUDE_IGNORED, ignoredNote } from "./list-directory.ts";
import { Searches, type SearchOptions } from "./searches.ts";

const PARAMETERS = toolArgs({
  pattern: z.string().describe("The pattern, for instance src/**/*.ts."),
  path: z.string().optional().describe("The directory to search. Default: the workspace."),
  ...INCLUDE_IGNORED,
});

/** So many paths are listed at most. */
const MAX_PATHS = 1000;

/** `glob`: the files whose paths match a pattern. */
export function globTool(
  workspace: Workspace,
  { access = everyFile, searches = new Searches() }: SearchOptions = {},
): Tool {
  return {
    declaration: {
      name: "glob",
      description:
        "Finds files by a glob pattern over their paths. Leaves out what .gitignore and .devtoolignore name.",
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args) => {
      const checked = PARAMETERS.read(args);
      const path = workspace.locate(checked.path || ".");
      const pattern = checked.pattern;
      const matches = compileGlob("pattern", inWorkspace(workspace, pattern));
      return {
        args,
        description: `Find ${pattern} in ${path || "the workspace"}`,
        execute: async function* (signal) {
          const walk = new IgnoreWalk({
            workspace,
            path,
            ignored: checked.include_ignored ? "include" : "skip",
          });
          const sieve = new FileFilter(access({ toolName: "glob", args, named: [path], shows: "names" }));
          const search = { path, matches, sieve };
          const paths = await searches.run((limits) => matchingFiles(walk, search, limits), signal);
          yield textResult(report(paths, walk.ignored) + sieve.note);
        },
      };
    },
  };
}

/** A pattern as it is within the workspace: models also write absolute ones. */
export function inWorkspace({ root }: Workspace, pattern: string): string {
  return pattern.startsWith(`${root}/`) ? pattern.slice(root.length + 1) : pattern;
}

/** What is looked for in a walk. */
export interface PathSearch {
  /** Where the walk began. */
  readonly path: string;
  readonly matches: GlobPattern;
  readonly sieve: FileFilter;
}

/** The files of a walk whose paths match, in the workspace or from where the walk began; stops after more than a list holds. */
export async function matchingFiles(
  walk: IgnoreWalk,
  { path, matches, sieve }: PathSearch,
  signal: AbortSignal,
): Promise<string[]> {
  const prefix = path === "" ? "" : `${path}/`;
  const found: string[] = [];
  for await (const { files } of walk.directories(signal)) {
    const matching = files.filter((file) => matches(file) || matches(file.slice(prefix.length)));
    found.push(...sieve.keep(matching));
    if (found.length > MAX_PATHS) break;
  }
  return found.sort();
}

function report(paths: readonly string[], ignored: number): string {
  if (paths.length === 0) return `No file matches.${ignoredNote(ignored)}`;
  if (paths.length <= MAX_PATHS) return paths.join("\n");
  return `${paths.slice(0, MAX_PATHS).join("\n")}\n[more than ${MAX_PATHS}: narrow the pattern]`;
}
