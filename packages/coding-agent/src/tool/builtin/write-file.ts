import { z } from "zod";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import type { Workspace } from "../workspace.ts";
import { fileEditInvocation } from "./file-edit.ts";
import { inStyleOf, readEditable } from "./file-edit-text.ts";

const PARAMETERS = toolArgs({
  file_path: z.string().describe("The file, absolute or relative to the workspace."),
  content: z.string().describe("The whole new content."),
});

/** `write_file`: creates a file, or replaces all of it; asks first. A file keeps its line ends and byte order mark. */
export function writeFileTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "write_file",
      description: "Writes a whole text file, creating it and its directories when they are missing.",
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args) => {
      const checked = PARAMETERS.read(args);
      const path = workspace.locate(checked.file_path);
      const oldContent = readEditable(workspace, path);
      return fileEditInvocation({
        workspace,
        path,
        oldContent,
        newContent: inStyleOf(oldContent, checked.content),
        args,
        argsFor: (content) => ({ ...args, content }),
      });
    },
  };
}
