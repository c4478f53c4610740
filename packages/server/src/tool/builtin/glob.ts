import picomatch from "picomatch";
import type { Tool } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";

const PARAMETERS: Parameters = {
  required: { pattern: { type: "string", description: "The pattern, for instance src/**/*.ts." } },
  optional: { path: { type: "string", description: "The directory to search. Default: the workspace." } },
};

/** So many paths are listed at most. */
const MAX_PATHS = 1000;

/** `glob`: the files whose paths match a pattern. */
export function globTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "glob",
      description: "Finds files by a glob pattern over their paths.",
      parameters: jsonSchemaOf(PARAMETERS),
    },
    prepare: async (args) => {
      const checked = new ToolArgs(args, PARAMETERS);
      const path = workspace.locate(checked.text("path") || ".");
      const pattern = checked.text("pattern");
      return {
        args,
        description: `Find ${pattern} in ${path || "the workspace"}`,
        execute: async function* (signal) {
          yield textResult(report(find(workspace, { path, pattern }, signal)));
        },
      };
    },
  };
}

function find(
  workspace: Workspace,
  { path, pattern }: { readonly path: string; readonly pattern: string },
  signal: AbortSignal,
): string[] {
  const matches = picomatch(pattern, { dot: true });
  const prefix = path === "" ? "" : `${path}/`;
  const found: string[] = [];
  for (const file of workspace.walk(path)) {
    signal.throwIfAborted();
    if (matches(file.slice(prefix.length)) || matches(file)) found.push(file);
    if (found.length > MAX_PATHS) break;
  }
  return found;
}

function report(paths: readonly string[]): string {
  if (paths.length === 0) return "No file matches.";
  if (paths.length <= MAX_PATHS) return paths.join("\n");
  return `${paths.slice(0, MAX_PATHS).join("\n")}\n[more than ${MAX_PATHS}: narrow the pattern]`;
}
