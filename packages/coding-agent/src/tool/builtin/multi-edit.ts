import { invalid } from "@devtool/server/agent";
import { z } from "zod";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import type { Workspace } from "../workspace.ts";
import { fileEditInvocation } from "./file-edit.ts";
import { locateFile, readExisting, replaceAll } from "./file-edit-text.ts";

const EDIT = z.object({
  old_string: z
    .string()
    .describe(
      "The exact text to replace, as the edits before it leave the file.",
    ),
  new_string: z.string().describe("The text to put in its place."),
  replace_all: z
    .boolean()
    .optional()
    .describe("Replaces every place. Default: the text must occur once."),
});

const PARAMETERS = toolArgs({
  file_path: z
    .string()
    .describe("The file, absolute or relative to the workspace."),
  edits: z.array(EDIT).describe("The edits, made one after the other."),
});

/**
 * Creates the tool `multi_edit`, which makes several replacements in one file,
 * all or none, after the user's approval.
 */
export function multiEditTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "multi_edit",
      description:
        "Makes several replacements in one text file at once. When one of them does not fit, none is made.",
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args, _signal, pending) => {
      const { file_path, edits } = PARAMETERS.read(args);
      const path = locateFile(workspace, file_path);
      if (edits.length === 0) {
        throw invalid("edits", "", "is empty", "name at least one edit");
      }
      const oldContent = readExisting(workspace, path, pending);
      let newContent = oldContent;
      for (const [
        index,
        { old_string: oldText, new_string: newText, replace_all: replacesAll },
      ] of edits.entries()) {
        const field = `edits[${index}].old_string`;
        if (oldText === "") {
          throw invalid(
            field,
            "",
            "is empty",
            "use write_file to write a whole file",
          );
        }
        const { content, count } = replaceAll(newContent, oldText, newText);
        if (count === 0 || (count > 1 && !replacesAll)) {
          const remedy =
            count === 0
              ? "read the file again"
              : "be more exact or set replace_all";
          throw invalid(
            field,
            "",
            `occurs ${count} times in ${JSON.stringify(path)}, so no edit was made`,
            remedy,
          );
        }
        newContent = content;
      }
      if (newContent === oldContent) {
        throw invalid("edits", "", "leave the file as it is");
      }
      return fileEditInvocation({
        workspace,
        path,
        oldContent,
        newContent,
        args,
        argsFor: (content) => ({
          file_path: path,
          edits: [{ old_string: oldContent, new_string: content }],
        }),
      });
    },
  };
}
