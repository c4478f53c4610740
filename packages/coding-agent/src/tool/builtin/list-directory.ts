import { posix } from "node:path";
import { isPlaceholder } from "@devtool/sandbox";
import { Code, DevtoolError } from "@devtool/server/agent";
import { z } from "zod";
import { everyFile, FileFilter } from "../file-access.ts";
import { IgnoreRules } from "../ignore-rules.ts";
import { listedPath } from "../listed-path.ts";
import { Pace } from "../pace.ts";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import { Searches, type SearchOptions } from "./searches.ts";

/** The argument that makes listings and searches include ignored files. */
export const INCLUDE_IGNORED: {
  readonly include_ignored: z.ZodOptional<z.ZodBoolean>;
} = {
  include_ignored: z
    .boolean()
    .optional()
    .describe(
      "Includes what .gitignore and .devtoolignore name, and node_modules. Default false.",
    ),
};

const PARAMETERS = toolArgs({
  path: z
    .string()
    .describe(
      "The directory, absolute or relative to the workspace; . for the workspace.",
    ),
  ...INCLUDE_IGNORED,
});

/** The maximum number of names in a result. */
const MAX_ENTRIES = 2000;

/**
 * Creates the tool `list_directory`, which lists the names in one directory, at
 * most 2000.
 *
 * Leaves out what `.gitignore` and `.devtoolignore` name, unless a call
 * includes it, and the placeholders of sandboxes.
 */
export function listDirectoryTool(
  workspace: Workspace,
  { access = everyFile, searches = new Searches() }: SearchOptions = {},
): Tool {
  return {
    declaration: {
      name: "list_directory",
      description:
        "Lists the files and directories directly in a directory. Leaves out what .gitignore and .devtoolignore name.",
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args) => {
      const checked = PARAMETERS.read(args);
      const path = workspace.locate(checked.path);
      const ignored = checked.include_ignored ? "include" : "skip";
      return {
        args,
        description: `List ${path || "the workspace"}`,
        execute: async function* (signal) {
          const filter = new FileFilter(
            access({
              toolName: "list_directory",
              args,
              named: [path],
              shows: "names",
            }),
          );
          const listing = { path, ignored, filter } as const;
          const text = await searches.run(
            (limits) => listDirectory(workspace, listing, limits),
            signal,
          );
          yield textResult(text + filter.note);
        },
      };
    },
  };
}

/**
 * Returns a line with the number of ignored entries that were left out. Empty
 * when none were.
 */
export function ignoredNote(count: number): string {
  if (count === 0) return "";
  return `\n[${count} ignored ${count === 1 ? "entry" : "entries"} left out: include_ignored shows them]`;
}

interface Listing {
  /** The directory, relative to the workspace. */
  readonly path: string;
  readonly ignored: "skip" | "include";
  readonly filter: FileFilter;
}

async function listDirectory(
  workspace: Workspace,
  listing: Listing,
  signal: AbortSignal,
): Promise<string> {
  const { path, ignored, filter } = listing;
  const all = workspace.readDirectory(path);
  if (!all) {
    throw new DevtoolError(
      `directory ${JSON.stringify(path)} does not exist`,
      Code.NotFound,
    );
  }
  const entries = all.filter((entry) => {
    const entryPath = posix.join(path, entry.name);
    // The mark of a sandbox's placeholder can be forged, so a directory is left
    // out only if it is empty too.
    const isPlaceholderDirectory =
      entry.isDirectory() &&
      isPlaceholder(posix.join(workspace.root, entryPath)) &&
      workspace.readDirectory(entryPath)?.length === 0;
    return !isPlaceholderDirectory && filter.keep([entryPath]).length > 0;
  });
  const rules = new IgnoreRules(workspace);
  const pace = new Pace(signal);
  const includesIgnored =
    ignored === "include" || (await rules.ignoresTree(path, pace));
  const lines: string[] = [];
  for (const entry of entries) {
    await pace.rest();
    const { name } = entry;
    const kind = entry.isDirectory() ? "directory" : "file";
    const isIgnored =
      !includesIgnored && (await rules.ignores(posix.join(path, name), kind));
    if (isIgnored) continue;
    if (kind === "directory") {
      lines.push(`${listedPath(name)}/`);
    } else {
      lines.push(`${listedPath(name)}${entry.isSymbolicLink() ? "@" : ""}`);
    }
  }
  const note = ignoredNote(entries.length - lines.length);
  if (lines.length === 0) return `The directory is empty.${note}`;
  const more =
    lines.length > MAX_ENTRIES
      ? `\n[${lines.length} entries: glob finds the rest]`
      : "";
  return `${lines.slice(0, MAX_ENTRIES).join("\n")}${more}${note}`;
}
