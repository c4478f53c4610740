import picomatch from "picomatch";
import { DevtoolError, invalid } from "../../errors.ts";
import { IgnoreWalk } from "../ignore-walk.ts";
import type { Tool } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import { matchingFiles } from "./glob.ts";
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
  if (picomatch.scan(path).isGlob) return { case: "pattern", expression: globExpression("paths", path) };
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
    const walk = walkFor(workspace, item, ignored);
    const expression = item.case === "pattern" ? item.expression : /(?:)/;
    const found = walk ? await matchingFiles(walk, { path: "", expression }, signal) : [];
    for (const file of walk || item.case === "pattern" ? found : [item.path]) files.add(file);
    left = Math.max(left, walk?.ignored ?? 0);
  }
  return { files: [...files], note: ignoredNote(left) };
}

/** The walk that finds the files of an element; undefined for one that names a file, or nothing. */
function walkFor(workspace: Workspace, item: Wanted, ignored: "skip" | "include"): IgnoreWalk | undefined {
  if (item.case === "pattern") return new IgnoreWalk({ workspace, path: "", ignored });
  return isDirectory(workspace, item.path) ? new IgnoreWalk({ workspace, path: item.path, ignored }) : undefined;
}

function isDirectory(workspace: Workspace, path: string): boolean {
  try {
    return workspace.readDirectory(path) !== undefined;
  } catch {
    return false;
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
