import { join, posix, sep } from "node:path";
import { z } from "zod";
import { everyFile, FileFilter } from "../file-access.ts";
import { IgnoreWalk } from "../ignore-walk.ts";
import { listedPath } from "../listed-path.ts";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import { compilePathGlob, type GlobPattern } from "./glob-pattern.ts";
import { INCLUDE_IGNORED, ignoredNote } from "./list-directory.ts";
import { Searches, type SearchOptions } from "./searches.ts";

const PARAMETERS = toolArgs({
  pattern: z.string().describe("The pattern, for instance src/**/*.ts."),
  path: z
    .string()
    .optional()
    .describe("The directory to search. Default: the workspace."),
  ...INCLUDE_IGNORED,
});

/** The maximum number of paths in a result. */
const MAX_PATHS = 1000;

/**
 * Creates the tool `glob`, which finds files by a pattern over their paths, at
 * most 1000.
 *
 * Leaves out what `.gitignore` and `.devtoolignore` name, unless a call
 * includes it.
 */
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
      const {
        pattern,
        path: directory,
        include_ignored: includesIgnored,
      } = PARAMETERS.read(args);
      const path = workspace.locate(directory || ".");
      const relative = toRelativePattern(workspace, pattern);
      const compileBelow = (base: string): GlobPattern =>
        compilePathGlob("pattern", relative, (name) =>
          workspace.exists(posix.join(base, name)),
        );
      compileBelow("");
      return {
        args,
        description: `Find ${pattern} in ${path || "the workspace"}`,
        execute: async function* (signal) {
          const walk = new IgnoreWalk({
            workspace,
            path,
            ignored: includesIgnored ? "include" : "skip",
          });
          const filter = new FileFilter(
            access({ toolName: "glob", args, named: [path], shows: "names" }),
          );
          // The pattern is compiled again, for the files that exist by now.
          const [matches, matchesBelow] = [
            compileBelow(""),
            compileBelow(path),
          ];
          const start = path === "" ? 0 : path.length + 1;
          const search = {
            matches: (file: string) =>
              matches(file) || matchesBelow(file.slice(start)),
            filter,
          };
          const paths = await searches.run(
            (limits) => findFiles(walk, search, limits),
            signal,
          );
          const more =
            paths.length > MAX_PATHS
              ? [`[more than ${MAX_PATHS}: narrow the pattern]`]
              : [];
          const text =
            paths.length === 0
              ? `No file matches.${ignoredNote(walk.ignoredCount)}`
              : [...paths.slice(0, MAX_PATHS).map(listedPath), ...more].join(
                  "\n",
                );
          yield textResult(text + filter.note);
        },
      };
    },
  };
}

/**
 * Makes a pattern relative to the workspace. Models also write absolute
 * patterns.
 */
export function toRelativePattern(
  { root }: Workspace,
  pattern: string,
): string {
  return pattern.startsWith(join(root, sep))
    ? pattern.slice(join(root, sep).length)
    : pattern;
}

interface PathSearch {
  readonly matches: GlobPattern;
  readonly filter: FileFilter;
}

/**
 * Returns the sorted paths of the files whose path matches, relative to the
 * workspace.
 *
 * Stops when there are more than fit in a result.
 */
export async function findFiles(
  walk: IgnoreWalk,
  { matches, filter }: PathSearch,
  signal: AbortSignal,
): Promise<string[]> {
  const found: string[] = [];
  for await (const { files } of walk.directories(signal)) {
    found.push(...filter.keep(files.filter(matches)));
    if (found.length > MAX_PATHS) break;
  }
  return found.sort();
}
