import { invalid } from "@devtool/server/agent";
import { z } from "zod";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import type { Workspace } from "../workspace.ts";
import { fileEditInvocation } from "./file-edit.ts";
import { readExisting, splitAt } from "./file-edit-text.ts";

const EDIT = z.object({
  old_string: z.string().describe("The exact text to replace, as the edits before it leave the file."),
  new_string: z.string().describe("The text to put in its place."),
  replace_all: z.boolean().optional().describe("Replaces every place. Default: the text must occur once."),
});

const PARAMETERS = toolArgs({
  file_path: z.string().describe("The file, absolute or relative to the workspace."),
  edits: z.array(EDIT).describe("The edits, made one after the other."),
});

/** `multi_edit`: makes several replacements in one file, all of them or none; asks first. */
export function multiEditTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "multi_edit",
      description: "Makes several replacements in one text file at once. When one of them does not fit, none is made.",
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args) => {
      const checked = PARAMETERS.read(args);
      const path = workspace.locate(checked.file_path);
      const edits = checked.edits;
      if (edits.length === 0) throw invalid("edits", "", "is empty", "name at least one edit");
      const oldContent = readExisting(workspace, path);
      return fileEditInvocation({
        workspace,
        path,
        oldContent,
        newContent: edits.reduce((content, edit, index) => edited(content, edit, { path, index }), oldContent),
        args,
        argsFor: (newContent) => ({ file_path: path, edits: [{ old_string: oldContent, new_string: newContent }] }),
      });
    },
  };
}

interface Place {
  readonly path: string;
  readonly index: number;
}

function edited(content: string, edit: z.infer<typeof EDIT>, { path, index }: Place): string {
  const field = `edits[${index}].old_string`;
  const oldText = edit.old_string;
  if (oldText === "") throw invalid(field, "", "is empty", "use write_file to write a whole file");
  const { pieces, between } = splitAt(content, { oldText, newText: edit.new_string });
  const found = pieces.length - 1;
  if (found === 1 || (found > 1 && edit.replace_all)) return pieces.join(between);
  const remedy = found === 0 ? "read the file again" : "be more exact or set replace_all";
  throw invalid(field, "", `occurs ${found} times in ${JSON.stringify(path)}, so no edit was made`, remedy);
}
