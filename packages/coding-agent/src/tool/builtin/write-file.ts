import { z } from "zod";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import type { Workspace } from "../workspace.ts";
import { fileEditInvocation } from "./file-edit.ts";
import { locateFile, matchFileFormat, readEditable } from "./file-edit-text.ts";

const PARAMETERS = toolArgs({
  file_path: z
    .string()
    .describe("The file, absolute or relative to the workspace."),
  content: z.string().describe("The whole new content."),
});

/**
 * Creates the tool `write_file`, which creates a file or replaces its whole
 * content, after the user's approval.
 *
 * A replaced file keeps its line endings and byte order mark.
 */
export function writeFileTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "write_file",
      description:
        "Writes a whole text file, creating it and its directories when they are missing.",
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args, _signal, pending) => {
      const { file_path, content: proposed } = PARAMETERS.read(args);
      const path = locateFile(workspace, file_path);
      const oldContent = readEditable(workspace, path, pending);
      return fileEditInvocation({
        workspace,
        path,
        oldContent,
        newContent: matchFileFormat(oldContent, proposed),
        args,
        argsFor: (content) => ({ ...args, content }),
      });
    },
  };
}
