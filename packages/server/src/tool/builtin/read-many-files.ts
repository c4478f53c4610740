import picomatch from "picomatch";
import { DevtoolError, invalid } from "../../errors.ts";
import { IgnoreWalk } from "../ignore-walk.ts";
import type { Tool } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import { inWorkspace, matchingFiles } from "./glob.ts";
import { INCLUDE_IGNORED, ignoredNote } from "./list-directory.ts";
import { DEFAULT_LINES, readText } from "./read-file.ts";
import { MAX_TEXT_BYTES } from "./read-file-lines.ts";
import { globExpression, MAX_SEARCH_MS } from "./search-file-content-matcher.ts";

const PARAMETERS: Parameters = {
  required: {
    paths: {
      type: "array",
      description: 'Files, directories or glob patterns, for instance ["README.md", "src/**/*.ts"].',
      items: { type: "string" },
    },
  },
  optional: INCLUDE_IGNORED,
};

/** So many files are read at most, and so many bytes of each. */
const MAX_FILES = 200;
const MAX_PATTERNS = 50;
const MAX_BYTES_EACH = 64 * 1024;

/** `read_many_files`: the texts of several files, one after the other, as far as they fit. */
export function readManyFilesTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "read_many_files",
      description: "Reads several text files at once, by path or glob pattern. Use it when they belong together.",
      parameters: jsonSchemaOf(PARAMETERS),
    },
    prepare: async (args) => {
      const checked = new ToolArgs(args, PARAMETERS);
      const wanted = checked.texts("paths").map((path) => wantedOf(workspace, path));
      if (wanted.length === 0 || wanted.length > MAX_PATTERNS) {
        throw invalid("paths", "", `has ${wanted.length} elements: give 1 to ${MAX_PATTERNS}`);
      }
      const ignored = checked.flag("include_ignored") ? "include" : "skip";
      return {
        args,
        description: `Read ${checked.texts("paths").join(", ")}`,
        execute: async function* (signal) {
          const limits = AbortSignal.any([signal, AbortSignal.timeout(MAX_SEARCH_MS)]);
          const { files, note } = await collect(workspace, { wanted, ignored }, limits);
          yield textResult((await readAll(workspace, files, limits)) + note);
        },
      };
    },
  };
}

/** What one element asks for: the pattern as an expression, or a path. */
type Wanted =
  | { readonly case: "pattern"; readonly expression: RegExp }
  | { readonly case: "path"; readonly path: string };

function wantedOf(workspace: Workspace, path: string): Wanted {
  const pattern = inWorkspace(workspace, path);
  if (picomatch.scan(pattern).isGlob) return { case: "pattern", expression: globExpression("paths", pattern) };
  return { case: "path", path: workspace.locate(path) };
}

async function collect(
  workspace: Workspace,
  { wanted, ignored }: { readonly wanted: readonly Wanted[]; readonly ignored: "skip" | "include" },
  signal: AbortSignal,
): Promise<{ readonly files: readonly string[]; readonly note: string }> {
  const files = new Set<string>();
  let left = 0;
  for (const item of wanted) {
    const path = item.case === "path" ? item.path : "";
    const walk = new IgnoreWalk({ workspace, path, ignored });
    const expression = item.case === "pattern" ? item.expression : /(?:)/;
    for (const file of await found(walk, { path, expression }, signal)) files.add(file);
    left = Math.max(left, walk.ignored);
  }
  return { files: [...files], note: ignoredNote(left) };
}

/** The files of a walk that match; what cannot be walked is a file itself, which then says why it cannot be read. */
async function found(
  walk: IgnoreWalk,
  search: { readonly path: string; readonly expression: RegExp },
  signal: AbortSignal,
): Promise<string[]> {
  try {
    return await matchingFiles(walk, search, signal);
  } catch (reason) {
    signal.throwIfAborted();
    if (search.path === "") throw reason;
    return [search.path];
  }
}

async function readAll(workspace: Workspace, files: readonly string[], signal: AbortSignal): Promise<string> {
  const texts: string[] = [];
  let room = MAX_TEXT_BYTES;
  for (const path of files.slice(0, MAX_FILES)) {
    if (room <= 0) break;
    const text = await readOne(workspace, { path, maxBytes: Math.min(room, MAX_BYTES_EACH) }, signal);
    room -= Buffer.byteLength(text);
    texts.push(`--- ${path} ---\n${text}`);
  }
  if (texts.length === 0) return "No file matches.";
  const rest = files.length - texts.length;
  return texts.join("\n") + (rest > 0 ? `\n[${rest} more files did not fit: read them with another call]` : "");
}

async function readOne(
  workspace: Workspace,
  { path, maxBytes }: { readonly path: string; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<string> {
  try {
    return await readText(workspace, { path, offset: 0, limit: DEFAULT_LINES, maxBytes }, signal);
  } catch (reason) {
    signal.throwIfAborted();
    return `[not read: ${DevtoolError.from(reason).message}]`;
  }
}
