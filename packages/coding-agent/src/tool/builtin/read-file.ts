import { Code, DevtoolError, invalid } from "@devtool/server/agent";
import { z } from "zod";
import { listedPath } from "../listed-path.ts";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import { describeContent, isImage } from "./read-file-kind.ts";
import {
  type LineRange,
  MAX_TEXT_BYTES,
  readLines,
} from "./read-file-lines.ts";

/** The default maximum number of lines in a result. */
export const DEFAULT_LINES = 2000;

const PARAMETERS = toolArgs({
  file_path: z
    .string()
    .describe("The file, absolute or relative to the workspace."),
  offset: z
    .int()
    .optional()
    .describe("The first line to read, counted from 0. Default 0."),
  limit: z
    .int()
    .optional()
    .describe(`How many lines to read at most. Default ${DEFAULT_LINES}.`),
});

/**
 * Creates the tool `read_file`, which returns lines of a text file of any size.
 *
 * For an image, it returns a description.
 */
export function readFileTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "read_file",
      description: `Reads a text file. Reads the first ${DEFAULT_LINES} lines unless told otherwise.`,
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args) => {
      const {
        file_path,
        offset = 0,
        limit = DEFAULT_LINES,
      } = PARAMETERS.read(args);
      const path = workspace.locate(file_path);
      if (offset < 0) {
        throw invalid("offset", String(offset), "must be 0 or more");
      }
      if (limit < 1) throw invalid("limit", String(limit), "must be 1 or more");
      return {
        args,
        description: `Read ${path}`,
        execute: async function* (signal) {
          yield textResult(
            await readText(
              workspace,
              path,
              { offset, limit, maxBytes: MAX_TEXT_BYTES },
              signal,
            ),
          );
        },
      };
    },
  };
}

/**
 * Reads lines of a text file. Returns a description of an image.
 *
 * Throws a `DevtoolError` when the file does not exist or is another kind of
 * binary file.
 */
export async function readText(
  workspace: Workspace,
  path: string,
  range: LineRange,
  signal: AbortSignal,
): Promise<string> {
  using file = workspace.openFile(path);
  if (!file) {
    throw new DevtoolError(
      `file ${JSON.stringify(path)} does not exist`,
      Code.NotFound,
    );
  }
  const content = await readLines(file, range, signal);
  if (content.case === "text") return content.text;
  const kind = describeContent(content.head, content.bytes);
  if (isImage(content.head)) {
    return `[${listedPath(path)} is a ${kind}: its pixels cannot be given as text]`;
  }
  throw new DevtoolError(
    `file ${JSON.stringify(path)} is binary (${kind})`,
    Code.InvalidArgument,
    {
      remedy:
        "it has no text; run_shell_command can use a program that reads it",
    },
  );
}
