import { invalid } from "@devtool/server/agent";
import { z } from "zod";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import type { Workspace } from "../workspace.ts";
import { fileEditInvocation } from "./file-edit.ts";
import { locateFile, readExisting, replaceAll } from "./file-edit-text.ts";

const PARAMETERS = toolArgs({
  file_path: z
    .string()
    .describe("The file, absolute or relative to the workspace."),
  old_string: z
    .string()
    .describe(
      "The exact text to replace, with enough around it to be found only where it is meant.",
    ),
  new_string: z.string().describe("The text to put in its place."),
  expected_replacements: z
    .int()
    .optional()
    .describe("How many times the text occurs. Default 1."),
  instruction: z.string().optional().describe("Why the change is made."),
});

/**
 * Creates the tool `replace`, which replaces a text in a file, after the user's
 * approval.
 *
 * The text must occur exactly as often as expected.
 */
export function replaceTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "replace",
      description:
        "Replaces text in a file. The text must occur exactly as often as expected.",
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args, _signal, pending) => {
      const {
        file_path,
        old_string: oldText,
        new_string: newText,
        expected_replacements = 1,
      } = PARAMETERS.read(args);
      const path = locateFile(workspace, file_path);
      const oldContent = readExisting(workspace, path, pending);
      if (oldText === "") {
        throw invalid(
          "old_string",
          "",
          "is empty",
          "use write_file to write a whole file",
        );
      }
      const { content, count } = replaceAll(oldContent, oldText, newText);
      if (count !== expected_replacements) {
        const problem = `occurs ${count} times in ${JSON.stringify(path)}, expected ${expected_replacements}`;
        throw invalid(
          "old_string",
          "",
          problem,
          "read the file and be more exact",
        );
      }
      if (content === oldContent) {
        throw invalid("new_string", "", "is the same as old_string");
      }
      return fileEditInvocation({
        workspace,
        path,
        oldContent,
        newContent: content,
        args,
        argsFor: (newContent) => ({
          file_path: path,
          old_string: oldContent,
          new_string: newContent,
        }),
      });
    },
  };
}
