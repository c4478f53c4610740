import { invalid } from "../../errors.ts";
import type { Tool } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";
import type { Workspace } from "../workspace.ts";
import { fileEditInvocation } from "./file-edit.ts";
import { readExisting, splitAt } from "./file-edit-text.ts";

const PARAMETERS: Parameters = {
  required: {
    file_path: { type: "string", description: "The file, absolute or relative to the workspace." },
    old_string: {
      type: "string",
      description: "The exact text to replace, with enough around it to be found only where it is meant.",
    },
    new_string: { type: "string", description: "The text to put in its place." },
  },
  optional: {
    expected_replacements: { type: "integer", description: "How many times the text occurs. Default 1." },
    instruction: { type: "string", description: "Why the change is made." },
  },
};

/** `replace`: replaces a piece of a file that occurs as often as expected; asks first. */
export function replaceTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "replace",
      description: "Replaces text in a file. The text must occur exactly as often as expected.",
      parameters: jsonSchemaOf(PARAMETERS),
    },
    prepare: async (args) => {
      const checked = new ToolArgs(args, PARAMETERS);
      const path = workspace.locate(checked.text("file_path"));
      const oldContent = readExisting(workspace, path);
      return fileEditInvocation({
        workspace,
        path,
        oldContent,
        newContent: replaced(oldContent, checked, path),
        args,
        argsFor: (newContent) => ({ file_path: path, old_string: oldContent, new_string: newContent }),
      });
    },
  };
}

function replaced(content: string, args: ToolArgs, path: string): string {
  const oldText = args.text("old_string");
  if (oldText === "") throw invalid("old_string", "", "is empty: use write_file to write a whole file");
  const { pieces, between } = splitAt(content, { oldText, newText: args.text("new_string") });
  assertCount(pieces.length - 1, args.integer("expected_replacements", 1), path);
  return pieces.join(between);
}

function assertCount(found: number, expected: number, path: string): void {
  if (found === expected) return;
  throw invalid(
    "old_string",
    "",
    `occurs ${found} times in ${JSON.stringify(path)}, expected ${expected}: read the file and be more exact`,
  );
}
