import type { Tool } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";
import type { Workspace } from "../workspace.ts";
import { fileEditInvocation } from "./file-edit.ts";
import { inStyleOf, readEditable } from "./file-edit-text.ts";

const PARAMETERS: Parameters = {
  required: {
    file_path: { type: "string", description: "The file, absolute or relative to the workspace." },
    content: { type: "string", description: "The whole new content." },
  },
  optional: {},
};

/** `write_file`: creates a file, or replaces all of it; asks first. A file keeps its line ends and byte order mark. */
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
      const oldContent = readEditable(workspace, path);
      return fileEditInvocation({
        workspace,
        path,
        oldContent,
        newContent: inStyleOf(oldContent, checked.text("content")),
        args,
        argsFor: (content) => ({ ...args, content }),
      });
    },
  };
}
