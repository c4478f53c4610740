import type { Dirent } from "node:fs";
import { Code, DevtoolError } from "../../errors.ts";
import { IgnoreRules } from "../ignore-rules.ts";
import { Pace } from "../pace.ts";
import type { Tool } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";

/** The argument by which listings and searches show what the workspace ignores. */
export const INCLUDE_IGNORED: Parameters["optional"] = {
  include_ignored: {
    type: "boolean",
    description: "Includes what .gitignore and .devtoolignore name, and node_modules. Default false.",
  },
};

const PARAMETERS: Parameters = {
  required: {
    path: { type: "string", description: "The directory, absolute or relative to the workspace; . for the workspace." },
  },
  optional: INCLUDE_IGNORED,
};

/** So many names are listed at most. */
const MAX_ENTRIES = 2000;

/** `list_directory`: the names in one directory. */
export function listDirectoryTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "list_directory",
      description:
        "Lists the files and directories directly in a directory. Leaves out what .gitignore and .devtoolignore name.",
      parameters: jsonSchemaOf(PARAMETERS),
    },
    prepare: async (args) => {
      const checked = new ToolArgs(args, PARAMETERS);
      const path = workspace.locate(checked.text("path"));
      const ignored = checked.flag("include_ignored") ? "include" : "skip";
      return {
        args,
        description: `List ${path || "the workspace"}`,
        execute: async function* (signal) {
          yield textResult(await listing(workspace, { path, ignored }, signal));
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
}

async function listing(workspace: Workspace, { path, ignored }: Listed, signal: AbortSignal): Promise<string> {
  const entries = workspace.readDirectory(path);
  if (!entries) throw new DevtoolError(`directory ${JSON.stringify(path)} does not exist`, Code.NotFound);
  const rules = new IgnoreRules(workspace);
  const includes = ignored === "include" || rules.ignoresWay(path);
  const pace = new Pace(signal);
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

function isIgnored(entry: Dirent, directory: string, rules: IgnoreRules): boolean {
  const path = directory === "" ? entry.name : `${directory}/${entry.name}`;
  return entry.isDirectory() ? rules.ignoresDirectory(path) : rules.ignoresFile(path);
}

function lineOf(entry: Dirent): string {
  if (entry.isDirectory()) return `${entry.name}/`;
  return entry.isSymbolicLink() ? `${entry.name}@` : entry.name;
}
