import { isUtf8 } from "node:buffer";
import { posix } from "node:path";
import { keepStart } from "@devtool/internal/cut-text";
import { invalid } from "@devtool/server/agent";
import { RE2JS, RE2JSSyntaxException } from "re2js";
import { z } from "zod";
import { everyFile, FileFilter } from "../file-access.ts";
import { IgnoreWalk } from "../ignore-walk.ts";
import { listedPath } from "../listed-path.ts";
import { Pace } from "../pace.ts";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import { compilePathGlob, type GlobPattern } from "./glob-pattern.ts";
import { INCLUDE_IGNORED, ignoredNote } from "./list-directory.ts";
import { Searches, type SearchOptions } from "./searches.ts";

const PARAMETERS = toolArgs({
  pattern: z
    .string()
    .describe(
      "A regular expression in RE2's syntax (no look-around, no back references), matched against each line.",
    ),
  path: z
    .string()
    .optional()
    .describe("The directory to search. Default: the workspace."),
  include: z
    .string()
    .optional()
    .describe(
      "A glob pattern that the paths must match, for instance *.ts or src/**.",
    ),
  ...INCLUDE_IGNORED,
});

const NAME = "search_file_content";

/** The maximum number of lines in a result. */
const MAX_MATCHES = 500;

/** The maximum number of characters of a line to show in a result. */
const MAX_SHOWN_CHARS = 300;

/**
 * The maximum number of characters of a line to search. With `MAX_PROGRAM_SIZE`
 * it limits the time per line.
 */
const MAX_SEARCHED_CHARS = 16_384;

/** The maximum length of a pattern in characters. */
const MAX_PATTERN_LENGTH = 1000;

/** The maximum size of a compiled pattern in instructions. */
const MAX_PROGRAM_SIZE = 300;

/**
 * Creates the tool `search_file_content`, which finds the lines of text files
 * that match a regular expression in RE2's syntax, at most 500.
 *
 * Leaves out what `.gitignore` and `.devtoolignore` name, unless a call
 * includes it.
 */
export function searchFileContentTool(
  workspace: Workspace,
  { access = everyFile, searches = new Searches() }: SearchOptions = {},
): Tool {
  return {
    declaration: {
      name: NAME,
      description:
        "Searches the lines of text files with a regular expression. Leaves out what .gitignore and .devtoolignore name.",
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args) => {
      const {
        pattern,
        path: directory,
        include,
        include_ignored: includesIgnored,
      } = PARAMETERS.read(args);
      const expression = compilePattern(pattern);
      const path = workspace.locate(directory || ".");
      const compileInclude = (): GlobPattern => {
        if (!include) return () => true;
        // A pattern with a slash matches the whole path of a file, any other
        // its name.
        const isPath = include.includes("/");
        const matches = compilePathGlob(
          "include",
          include,
          (name) => isPath && workspace.exists(name),
        );
        return isPath ? matches : (file) => matches(posix.basename(file));
      };
      compileInclude();
      return {
        args,
        description: `Search ${pattern} in ${path || "the workspace"}`,
        execute: async function* (signal) {
          const walk = new IgnoreWalk({
            workspace,
            path,
            ignored: includesIgnored ? "include" : "skip",
          });
          const filter = new FileFilter(
            access({ toolName: NAME, args, named: [path], shows: "content" }),
          );
          // The pattern is compiled again, for the files that exist by now.
          const includes = compileInclude();
          const options = { workspace, walk, expression, includes, filter };
          const lines = await searches.run(
            (limits) => searchLines(options, limits),
            signal,
          );
          const more =
            lines.length > MAX_MATCHES
              ? [`[more than ${MAX_MATCHES}: narrow the search]`]
              : [];
          const found = [...lines.slice(0, MAX_MATCHES), ...more].join("\n");
          const text =
            lines.length === 0
              ? `No line matches.${ignoredNote(walk.ignoredCount)}`
              : found;
          yield textResult(text + filter.note);
        },
      };
    },
  };
}

interface ContentSearch {
  readonly workspace: Workspace;
  readonly walk: IgnoreWalk;
  readonly expression: RE2JS;
  /** Selects the files to search by their paths. */
  readonly includes: GlobPattern;
  readonly filter: FileFilter;
}

function compilePattern(pattern: string): RE2JS {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw invalid(
      "pattern",
      keepStart(pattern, 40),
      `has over ${MAX_PATTERN_LENGTH} characters`,
    );
  }
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(pattern));
    if (expression.programSize() <= MAX_PROGRAM_SIZE) return expression;
  } catch (reason) {
    if (!(reason instanceof RE2JSSyntaxException)) throw reason;
    const cause = reason.message.replace("error parsing regexp: ", "");
    throw invalid(
      "pattern",
      pattern,
      `is not a valid regular expression in RE2's syntax: ${cause}`,
    );
  }
  throw invalid("pattern", pattern, "is too large", "use lower counts");
}

async function searchLines(
  options: ContentSearch,
  signal: AbortSignal,
): Promise<string[]> {
  const { workspace, walk, expression, includes, filter } = options;
  const pace = new Pace(signal);
  const found: string[] = [];
  for await (const { files } of walk.directories(signal)) {
    for (const file of filter.keep(files.filter(includes))) {
      const text = readTextIfPossible(workspace, file);
      if (text === undefined) continue;
      for (const [index, line] of text.split(/\r?\n/).entries()) {
        await pace.rest();
        const isMatch = expression.test(keepStart(line, MAX_SEARCHED_CHARS));
        if (isMatch) {
          found.push(
            `${listedPath(file)}:${index + 1}:${keepStart(line, MAX_SHOWN_CHARS)}`,
          );
        }
      }
      if (found.length > MAX_MATCHES) return found;
    }
  }
  return found;
}

/**
 * Reads a text file. Returns undefined for a file that is binary, too large or
 * unreadable, which a search skips.
 */
function readTextIfPossible(
  workspace: Workspace,
  path: string,
): string | undefined {
  try {
    const content = workspace.readFile(path);
    return content && isUtf8(content) && !content.includes(0)
      ? content.toString("utf8")
      : undefined;
  } catch {
    return undefined;
  }
}
