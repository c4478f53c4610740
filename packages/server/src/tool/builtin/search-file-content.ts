import { isUtf8 } from "node:buffer";
import { posix } from "node:path";
import { invalid } from "../../errors.ts";
import { IgnoreWalk } from "../ignore-walk.ts";
import type { Tool } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import { INCLUDE_IGNORED, ignoredNote } from "./list-directory.ts";
import { globExpression, MAX_SEARCH_MS, Matcher } from "./search-file-content-matcher.ts";

const PARAMETERS: Parameters = {
  required: { pattern: { type: "string", description: "A JavaScript regular expression, matched against each line." } },
  optional: {
    path: { type: "string", description: "The directory to search. Default: the workspace." },
    include: { type: "string", description: "A glob pattern that the paths must match, for instance *.ts or src/**." },
    ...INCLUDE_IGNORED,
  },
};

/** So many matching lines are listed at most. */
const MAX_MATCHES = 500;

/** `search_file_content`: the lines that match a pattern. */
export function searchFileContentTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "search_file_content",
      description:
        "Searches the lines of text files with a regular expression. Leaves out what .gitignore and .devtoolignore name.",
      parameters: jsonSchemaOf(PARAMETERS),
    },
    prepare: async (args) => {
      const checked = new ToolArgs(args, PARAMETERS);
      const pattern = checked.text("pattern");
      const expression = expressionOf(pattern);
      const path = workspace.locate(checked.text("path") || ".");
      const ignored = checked.flag("include_ignored") ? "include" : "skip";
      const include = checked.text("include");
      const included =
        include === "" ? undefined : { pattern: include, expression: globExpression("include", include) };
      return {
        args,
        description: `Search ${pattern} in ${path || "the workspace"}`,
        execute: async function* (signal) {
          const limits = AbortSignal.any([signal, AbortSignal.timeout(MAX_SEARCH_MS)]);
          const walk = new IgnoreWalk({ workspace, path, ignored });
          yield textResult(report(await search({ workspace, walk, expression, included }, limits), walk.ignored));
        },
      };
    },
  };
}

interface Search {
  readonly workspace: Workspace;
  readonly walk: IgnoreWalk;
  readonly expression: RegExp;
  readonly included: { readonly pattern: string; readonly expression: RegExp } | undefined;
}

function expressionOf(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch {
    throw invalid("pattern", pattern, "is no regular expression");
  }
}

async function search(options: Search, signal: AbortSignal): Promise<string[]> {
  const { workspace, expression } = options;
  await using matcher = new Matcher(expression);
  const found: string[] = [];
  for await (const file of searchedFiles(options, signal)) {
    const text = readSearchable(workspace, file);
    if (text !== undefined) for (const line of await matcher.lines(text, signal)) found.push(`${file}:${line}`);
    if (found.length > MAX_MATCHES) break;
  }
  return found;
}

async function* searchedFiles({ walk, included }: Search, signal: AbortSignal): AsyncIterable<string> {
  if (!included) {
    for await (const { files } of walk.directories(signal)) yield* files;
    return;
  }
  const nameOf = (file: string): string => (included.pattern.includes("/") ? file : posix.basename(file));
  await using matcher = new Matcher(included.expression);
  for await (const { files } of walk.directories(signal)) {
    const matching = new Set(await matcher.names(files.map(nameOf), signal));
    yield* files.filter((file) => matching.has(nameOf(file)));
  }
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
