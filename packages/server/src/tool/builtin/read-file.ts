import { isUtf8 } from "node:buffer";
import { Code, DevtoolError, invalid } from "../../errors.ts";
import type { Tool } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";

const PARAMETERS: Parameters = {
  required: { file_path: { type: "string", description: "The file, absolute or relative to the workspace." } },
  optional: {
    offset: { type: "integer", description: "The first line to read, counted from 0. Default 0." },
    limit: { type: "integer", description: "How many lines to read at most. Default 2000." },
  },
};

/** `read_file`: the text of a file, or some lines of it. */
export function readFileTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "read_file",
      description: "Reads a text file. Reads the first 2000 lines unless told otherwise.",
      parameters: jsonSchemaOf(PARAMETERS),
    },
    prepare: async (args) => {
      const checked = new ToolArgs(args, PARAMETERS);
      const path = workspace.locate(checked.text("file_path"));
      const offset = checked.integer("offset", 0);
      const limit = checked.integer("limit", 2000);
      if (offset < 0) throw invalid("offset", String(offset), "must be 0 or more");
      if (limit < 1) throw invalid("limit", String(limit), "must be 1 or more");
      return {
        args,
        description: `Read ${path}`,
        execute: async function* () {
          yield textResult(linesOf(readText(workspace, path), { offset, limit }));
        },
      };
    },
  };
}

/** Reads a file that must be there and must be text. Throws a `DevtoolError` that names it. */
export function readText(workspace: Workspace, path: string): string {
  const content = workspace.readFile(path);
  if (content === undefined) throw new DevtoolError(`file ${JSON.stringify(path)} does not exist`, Code.NotFound);
  if (isUtf8(content) && !content.includes(0)) return content.toString("utf8");
  throw new DevtoolError(
    `file ${JSON.stringify(path)} is binary (${content.length} bytes): it has no text`,
    Code.InvalidArgument,
  );
}

function linesOf(text: string, { offset, limit }: { readonly offset: number; readonly limit: number }): string {
  const lines = text.split("\n");
  if (offset === 0 && lines.length <= limit) return text;
  const shown = lines.slice(offset, offset + limit);
  return `[lines ${offset + 1} to ${offset + shown.length} of ${lines.length}]\n${shown.join("\n")}`;
}
