import { isUtf8 } from "node:buffer";
import { posix } from "node:path";
import { invalid } from "@devtool/server/agent";
import { RE2JS, RE2JSSyntaxException } from "re2js";
import { z } from "zod";
import { everyFile, FileFilter } from "../file-access.ts";
import { IgnoreWalk } from "../ignore-walk.ts";
import { Pace } from "../pace.ts";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import { compileGlob, type GlobPattern } from "./glob-pattern.ts";
import { INCLUDE_IGNORED, ignoredNote } from "./list-directory.ts";
import { Searches, type SearchOptions } from "./searches.ts";

const PARAMETERS = toolArgs({
  pattern: z
    .string()
    .describe("A regular expression in RE2's syntax (no look-around, no back references), matched against each line."),
  path: z.string().optional().describe("The directory to search. Default: the workspace."),
  include: z.string().optional().describe("A glob pattern that the paths must match, for instance *.ts or src/**."),
  ...INCLUDE_IGNORED,
});

const NAME = "search_file_content";
/** The maximum number of matching lines that are listed. */
const MAX_MATCHES = 500;
/** How many characters of a matching line are listed. */
const MAX_LISTED = 300;
/** How many characters of a line are searched: with the size of the pattern they bound how long one line takes. */
const MAX_SEARCHED = 16_384;
const MAX_PATTERN_LENGTH = 1000;
/** The maximum size of a compiled pattern, in instructions. */
const MAX_PROGRAM_SIZE = 300;

/** `search_file_content`: the lines that match a pattern. */
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
      const checked = PARAMETERS.read(args);
      const pattern = checked.pattern;
      const expression = expressionOf(pattern);
      const path = workspace.locate(checked.path || ".");
      const ignored = checked.include_ignored ? "include" : "skip";
      const include = checked.include ?? "";
      const includes = include === "" ? () => true : filesLike(include);
      return {
        args,
        description: `Search ${pattern} in ${path || "the workspace"}`,
        execute: async function* (signal) {
          const walk = new IgnoreWalk({ workspace, path, ignored });
          const sieve = new FileFilter(access({ toolName: NAME, args, named: [path], shows: "content" }));
          const options = { workspace, walk, expression, includes, sieve };
          const lines = await searches.run((limits) => search(options, limits), signal);
          yield textResult(report(lines, walk.ignored) + sieve.note);
        },
      };
    },
  };
}

interface Search {
  readonly workspace: Workspace;
  readonly walk: IgnoreWalk;
  readonly expression: RE2JS;
  readonly sieve: FileFilter;
  readonly includes: GlobPattern;
}

function expressionOf(pattern: string): RE2JS {
  if (pattern.length > MAX_PATTERN_LENGTH)
    throw invalid("pattern", pattern.slice(0, 40), `has over ${MAX_PATTERN_LENGTH} characters`);
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(pattern));
    if (expression.programSize() <= MAX_PROGRAM_SIZE) return expression;
  } catch (reason) {
    if (!(reason instanceof RE2JSSyntaxException)) throw reason;
    throw invalid(
      "pattern",
      pattern,
      `is no regular expression in RE2's syntax: ${reason.message.replace("error parsing regexp: ", "")}`,
    );
  }
  throw invalid("pattern", pattern, "is too large", "use lower counts");
}

/** The files that `include` stands for: by their whole path when it names directories, else by their name. */
function filesLike(include: string): GlobPattern {
  const matches = compileGlob("include", include);
  return include.includes("/") ? matches : (file) => matches(posix.basename(file));
}

async function search(options: Search, signal: AbortSignal): Promise<string[]> {
  const { workspace, walk, expression, includes, sieve } = options;
  const pace = new Pace(signal);
  const found: string[] = [];
  for await (const { files } of walk.directories(signal)) {
    for (const file of sieve.keep(files.filter(includes))) {
      const text = readSearchable(workspace, file) ?? "";
      for (const [index, line] of text.split("\n").entries()) {
        await pace.rest();
        const matches = expression.test(line.slice(0, MAX_SEARCHED));
        if (matches) found.push(`${file}:${index + 1}:${line.slice(0, MAX_LISTED)}`);
      }
      if (found.length > MAX_MATCHES) return found;
    }
  }
  return found;
}

function report(lines: readonly string[], ignored: number): string {
  if (lines.length === 0) return `No line matches.${ignoredNote(ignored)}`;
  const more = lines.length > MAX_MATCHES ? [`[more than ${MAX_MATCHES}: narrow the search]`] : [];
  return [...lines.slice(0, MAX_MATCHES), ...more].join("\n");
}

/** The text of a file; undefined for one that is no text, is too large or cannot be read, which a search passes over. */
function readSearchable(workspace: Workspace, path: string): string | undefined {
  try {
    const content = workspace.readFile(path);
    return content && isUtf8(content) && !content.includes(0) ? content.toString("utf8") : undefined;
  } catch {
    return undefined;
  }
}
