import type { Dirent } from "node:fs";
import { Code, DevtoolError } from "../../errors.ts";
import type { Tool } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";

const PARAMETERS: Parameters = {
  required: {
    path: { type: "string", description: "The directory, absolute or relative to the workspace; . for the workspace." },
  },
  optional: {},
};

/** `list_directory`: the names in one directory. */
export function listDirectoryTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "list_directory",
      description: "Lists the files and directories directly in a directory.",
      parameters: jsonSchemaOf(PARAMETERS),
    },
    prepare: async (args) => {
      const path = workspace.locate(new ToolArgs(args, PARAMETERS).text("path"));
      return {
        args,
        description: `List ${path || "the workspace"}`,
        execute: async function* () {
          const entries = workspace.readDirectory(path);
          if (!entries) throw new DevtoolError(`directory ${JSON.stringify(path)} does not exist`, Code.NotFound);
          yield textResult(entries.map(lineOf).join("\n") || "The directory is empty.");
        },
      };
    },
  };
}

function lineOf(entry: Dirent): string {
  if (entry.isDirectory()) return `${entry.name}/`;
  return entry.isSymbolicLink() ? `${entry.name}@` : entry.name;
}
