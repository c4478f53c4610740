import type { Dirent } from "node:fs";
import { posix } from "node:path";
import { isPlaceholder } from "@devtool/sandbox";
import { Code, DevtoolError } from "@devtool/server/agent";
import { z } from "zod";
import { everyFile, FileFilter } from "../file-access.ts";
import { IgnoreRules } from "../ignore-rules.ts";
import { Pace } from "../pace.ts";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import { Searches, type SearchOptions } from "./searches.ts";

/** The argument by which listings and searches show what the workspace ignores. */
export const INCLUDE_IGNORED: { readonly include_ignored: z.ZodOptional<z.ZodBoolean> } = {
  include_ignored: z
    .boolean()
    .optional()
    .describe("Includes what .gitignore and .devtoolignore name, and node_modules. Default false."),
};

const PARAMETERS = toolArgs({
  path: z.string().describe("The directory, absolute or relative to the workspace; . for the workspace."),
  ...INCLUDE_IGNORED,
});

/** So many names are listed at most. */
const MAX_ENTRIES = 2000;

/** `list_directory`: the names in one directory. */
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
          const sieve = new FileFilter(access({ toolName: "list_directory", args, named: [path], shows: "names" }));
          const listed: Listed = { path, ignored, sieve };
          const text = await searches.run((limits) => listing(workspace, listed, limits), signal);
          yield textResult(text + sieve.note);
        },
      };
    },
  };
}

/** Says that something ignored was left out; empty when nothing was. */
export function ignoredNote(count: number): string {
  if (count === 0) return "";
  return `\n[${count} ignored ${count === 1 ? "entry" : "entries"} left out: include_ignored shows them]`;
}

interface Listed {
  readonly path: string;
  readonly ignored: "skip" | "include";
  readonly sieve: FileFilter;
}

async function listing(workspace: Workspace, { path, ignored, sieve }: Listed, signal: AbortSignal): Promise<string> {
  const all = workspace.readDirectory(path);
  if (!all) throw new DevtoolError(`directory ${JSON.stringify(path)} does not exist`, Code.NotFound);
  const there = all.filter(
    (entry) => !entry.isDirectory() || !isEmptyPlaceholder(workspace, posix.join(path, entry.name)),
  );
  const entries = there.filter(({ name }) => sieve.keep([posix.join(path, name)]).length > 0);
  const rules = new IgnoreRules(workspace);
  const pace = new Pace(signal);
  const includes = ignored === "include" || (await rules.ignoresTree(path, pace));
  const shown: Dirent[] = [];
  for (const entry of entries) {
    await pace.rest();
    if (includes || !isIgnored(entry, path, rules)) shown.push(entry);
  }
  const note = ignoredNote(entries.length - shown.length);
  if (shown.length === 0) return `The directory is empty.${note}`;
  const more = shown.length > MAX_ENTRIES ? `\n[${shown.length} entries: glob finds the rest]` : "";
  return `${shown.slice(0, MAX_ENTRIES).map(lineOf).join("\n")}${more}${note}`;
}

/** The time of a directory can be forged, so one that holds something is listed whatever it looks like. */
function isEmptyPlaceholder(workspace: Workspace, path: string): boolean {
  return isPlaceholder(posix.join(workspace.root, path)) && workspace.readDirectory(path)?.length === 0;
}

function isIgnored(entry: Dirent, directory: string, rules: IgnoreRules): boolean {
  const path = directory === "" ? entry.name : `${directory}/${entry.name}`;
  return rules.ignores(path, entry.isDirectory() ? "directory" : "file");
}

function lineOf(entry: Dirent): string {
  if (entry.isDirectory()) return `${entry.name}/`;
  return entry.isSymbolicLink() ? `${entry.name}@` : entry.name;
}
