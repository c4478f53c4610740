import type { Tool } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";
import type { Workspace } from "../workspace.ts";
import { fileEditInvocation } from "./file-edit.ts";

const PARAMETERS: Parameters = {
  required: {
    file_path: { type: "string", description: "The file, absolute or relative to the workspace." },
    content: { type: "string", description: "The whole new content." },
  },
  optional: {},
};

/** `write_file`: creates a file, or replaces all of it; asks first. */
export function writeFileTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "write_file",
      description: "Writes a whole text file, creating it and its directories when they are missing.",
      parameters: jsonSchemaOf(PARAMETERS),
    },
    prepare: async (args) => {
      const checked = new ToolArgs(args, PARAMETERS);
      const path = workspace.locate(checked.text("file_path"));
      return fileEditInvocation({
        workspace,
        path,
        oldContent: workspace.readFile(path)?.toString("utf8"),
        newContent: checked.text("content"),
        argsFor: (content) => ({ ...args, content }),
      });
    },
  };
}
