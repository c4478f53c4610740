import { IgnoreWalk } from "../ignore-walk.ts";
import type { Tool } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import { INCLUDE_IGNORED, ignoredNote } from "./list-directory.ts";
import { globExpression, MAX_SEARCH_MS, Matcher } from "./search-file-content-matcher.ts";

const PARAMETERS: Parameters = {
  required: { pattern: { type: "string", description: "The pattern, for instance src/**/*.ts." } },
  optional: {
    path: { type: "string", description: "The directory to search. Default: the workspace." },
    ...INCLUDE_IGNORED,
  },
};

/** So many paths are listed at most. */
const MAX_PATHS = 1000;

/** `glob`: the files whose paths match a pattern. */
export function globTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "glob",
      description:
        "Finds files by a glob pattern over their paths. Leaves out what .gitignore and .devtoolignore name.",
      parameters: jsonSchemaOf(PARAMETERS),
    },
    prepare: async (args) => {
      const checked = new ToolArgs(args, PARAMETERS);
      const path = workspace.locate(checked.text("path") || ".");
      const pattern = checked.text("pattern");
      const expression = globExpression("pattern", inWorkspace(workspace, pattern));
      return {
        args,
        description: `Find ${pattern} in ${path || "the workspace"}`,
        execute: async function* (signal) {
          const walk = new IgnoreWalk({
            workspace,
            path,
            ignored: checked.flag("include_ignored") ? "include" : "skip",
          });
          const limits = AbortSignal.any([signal, AbortSignal.timeout(MAX_SEARCH_MS)]);
          yield textResult(report(await matchingFiles(walk, { path, expression }, limits), walk.ignored));
        },
      };
    },
  };
}

/** A pattern as it is within the workspace: models also write absolute ones. */
export function inWorkspace({ root }: Workspace, pattern: string): string {
  return pattern.startsWith(`${root}/`) ? pattern.slice(root.length + 1) : pattern;
}

/** The files of a walk whose paths match, in the workspace or from where the walk began; stops after more than a list holds. */
export async function matchingFiles(
  walk: IgnoreWalk,
  { path, expression }: { readonly path: string; readonly expression: RegExp },
  signal: AbortSignal,
): Promise<string[]> {
  const prefix = path === "" ? "" : `${path}/`;
  await using matcher = new Matcher(expression);
  const found: string[] = [];
  for await (const { files } of walk.directories(signal)) {
    const names = prefix === "" ? files : [...files, ...files.map((file) => file.slice(prefix.length))];
    const matching = new Set(await matcher.names(names, signal));
    found.push(...files.filter((file) => matching.has(file) || matching.has(file.slice(prefix.length))));
    if (found.length > MAX_PATHS) break;
  }
  return found.sort();
}

function report(paths: readonly string[], ignored: number): string {
  if (paths.length === 0) return `No file matches.${ignoredNote(ignored)}`;
  if (paths.length <= MAX_PATHS) return paths.join("\n");
  return `${paths.slice(0, MAX_PATHS).join("\n")}\n[more than ${MAX_PATHS}: narrow the pattern]`;
}
