import { invalid } from "@devtool/server/agent";
import { z } from "zod";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import type { Workspace } from "../workspace.ts";
import { fileEditInvocation } from "./file-edit.ts";
import { readExisting, splitAt } from "./file-edit-text.ts";

const PARAMETERS = toolArgs({
  file_path: z.string().describe("The file, absolute or relative to the workspace."),
  old_string: z
    .string()
    .describe("The exact text to replace, with enough around it to be found only where it is meant."),
  new_string: z.string().describe("The text to put in its place."),
  expected_replacements: z.int().optional().describe("How many times the text occurs. Default 1."),
  instruction: z.string().optional().describe("Why the change is made."),
});

/** `replace`: replaces a piece of a file that occurs as often as expected; asks first. */
export function replaceTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "replace",
      description: "Replaces text in a file. The text must occur exactly as often as expected.",
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args) => {
      const checked = PARAMETERS.read(args);
      const path = workspace.locate(checked.file_path);
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

function replaced(content: string, args: ReturnType<typeof PARAMETERS.read>, path: string): string {
  const oldText = args.old_string;
  if (oldText === "") throw invalid("old_string", "", "is empty", "use write_file to write a whole file");
  const { pieces, between } = splitAt(content, { oldText, newText: args.new_string });
  assertCount(pieces.length - 1, args.expected_replacements ?? 1, path);
  return pieces.join(between);
}

function assertCount(found: number, expected: number, path: string): void {
  if (found === expected) return;
  throw invalid(
    "old_string",
    "",
    `occurs ${found} times in ${JSON.stringify(path)}, expected ${expected}`,
    "read the file and be more exact",
  );
}
