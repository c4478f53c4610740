import { invalid } from "../../errors.ts";
import type { Tool } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";
import type { Workspace } from "../workspace.ts";
import { fileEditInvocation } from "./file-edit.ts";
import { readExisting, splitAt } from "./file-edit-text.ts";

const EDIT: Parameters = {
  required: {
    old_string: { type: "string", description: "The exact text to replace, as the edits before it leave the file." },
    new_string: { type: "string", description: "The text to put in its place." },
  },
  optional: {
    replace_all: { type: "boolean", description: "Replaces every place. Default: the text must occur once." },
  },
};

const PARAMETERS: Parameters = {
  required: {
    file_path: { type: "string", description: "The file, absolute or relative to the workspace." },
    edits: { type: "array", description: "The edits, made one after the other.", items: jsonSchemaOf(EDIT) },
  },
  optional: {},
};

/** `multi_edit`: makes several replacements in one file, all of them or none; asks first. */
export function multiEditTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "multi_edit",
      description: "Makes several replacements in one text file at once. When one of them does not fit, none is made.",
      parameters: jsonSchemaOf(PARAMETERS),
    },
    prepare: async (args) => {
      const checked = new ToolArgs(args, PARAMETERS);
      const path = workspace.locate(checked.text("file_path"));
      const edits = checked.objects("edits", EDIT);
      if (edits.length === 0) throw invalid("edits", "", "is empty: name at least one edit");
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

function edited(content: string, edit: ToolArgs, { path, index }: Place): string {
  const field = `edits[${index}].old_string`;
  const oldText = edit.text("old_string");
  if (oldText === "") throw invalid(field, "", "is empty: use write_file to write a whole file");
  const { pieces, between } = splitAt(content, { oldText, newText: edit.text("new_string") });
  const found = pieces.length - 1;
  if (found === 1 || (found > 1 && edit.flag("replace_all"))) return pieces.join(between);
  const remedy = found === 0 ? "read the file again" : "be more exact or set replace_all";
  throw invalid(field, "", `occurs ${found} times in ${JSON.stringify(path)}, so no edit was made: ${remedy}`);
}
