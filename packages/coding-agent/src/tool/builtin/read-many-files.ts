import { invalid } from "@devtool/server/agent";
import picomatch from "picomatch";
import { z } from "zod";
import { clientError } from "../../client-error.ts";
import { everyFile, FileFilter } from "../file-access.ts";
import { IgnoreWalk } from "../ignore-walk.ts";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import { inWorkspace, matchingFiles, type PathSearch } from "./glob.ts";
import { compileGlob, type GlobPattern } from "./glob-pattern.ts";
import { INCLUDE_IGNORED, ignoredNote } from "./list-directory.ts";
import { DEFAULT_LINES, readText } from "./read-file.ts";
import { MAX_TEXT_BYTES } from "./read-file-lines.ts";
import { Searches, type SearchOptions } from "./searches.ts";

const PARAMETERS = toolArgs({
  paths: z
    .array(z.string())
    .describe('Files, directories or glob patterns, for instance ["README.md", "src/**/*.ts"].'),
  ...INCLUDE_IGNORED,
});

/** The maximum number of files that are read, of patterns, and of bytes of each file. */
const MAX_FILES = 200;
const MAX_PATTERNS = 50;
const MAX_BYTES_EACH = 64 * 1024;

/** `read_many_files`: the texts of several files, one after the other, as far as they fit. */
export function readManyFilesTool(
  workspace: Workspace,
  { access = everyFile, searches = new Searches(), onNotice = () => undefined }: SearchOptions = {},
): Tool {
  return {
    declaration: {
      name: "read_many_files",
      description: "Reads several text files at once, by path or glob pattern. Use it when they belong together.",
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args) => {
      const checked = PARAMETERS.read(args);
      const wanted = checked.paths.map((path) => wantedOf(workspace, path));
      if (wanted.length === 0 || wanted.length > MAX_PATTERNS) {
        throw invalid("paths", "", `has ${wanted.length} elements`, `give 1 to ${MAX_PATTERNS}`);
      }
      const ignored = checked.include_ignored ? "include" : "skip";
      return {
        args,
        description: `Read ${checked.paths.join(", ")}`,
        execute: async function* (signal) {
          const named = wanted.flatMap((item) => (item.case === "path" ? [item.path] : []));
          const sieve = new FileFilter(access({ toolName: "read_many_files", args, named, shows: "content" }));
          const text = await searches.run(async (limits) => {
            const { files, note } = await collect(workspace, { wanted, ignored, sieve }, limits);
            return (await readAll({ workspace, onNotice: firstTo(onNotice) }, files, limits)) + note;
          }, signal);
          yield textResult(text + sieve.note);
        },
      };
    },
  };
}

/** What one element asks for. */
type Wanted =
  | { readonly case: "pattern"; readonly matches: GlobPattern }
  | { readonly case: "path"; readonly path: string };

function wantedOf(workspace: Workspace, path: string): Wanted {
  const pattern = inWorkspace(workspace, path);
  if (picomatch.scan(pattern).isGlob) return { case: "pattern", matches: compileGlob("paths", pattern) };
  return { case: "path", path: workspace.locate(path) };
}

/** Which files are wanted, and which of them may be read. */
interface Collection {
  readonly wanted: readonly Wanted[];
  readonly ignored: "skip" | "include";
  readonly sieve: FileFilter;
}

async function collect(
  workspace: Workspace,
  { wanted, ignored, sieve }: Collection,
  signal: AbortSignal,
): Promise<{ readonly files: readonly string[]; readonly note: string }> {
  const files = new Set<string>();
  let left = 0;
  for (const item of wanted) {
    const path = item.case === "path" ? item.path : "";
    const walk = new IgnoreWalk({ workspace, path, ignored });
    const matches = item.case === "pattern" ? item.matches : () => true;
    for (const file of await found(walk, { path, matches, sieve }, signal)) files.add(file);
    left = Math.max(left, walk.ignored);
  }
  return { files: [...files], note: ignoredNote(left) };
}

/** The files of a walk that match; what cannot be walked is a file itself, which then says why it cannot be read. */
async function found(walk: IgnoreWalk, search: PathSearch, signal: AbortSignal): Promise<string[]> {
  try {
    return await matchingFiles(walk, search, signal);
  } catch (reason) {
    signal.throwIfAborted();
    if (search.path === "") throw reason;
    return search.sieve.keep([search.path]);
  }
}

/** Where files are read, and who is told of what nobody expected. */
interface Reading {
  readonly workspace: Workspace;
  readonly onNotice: (text: string) => void;
}

/** Passes on the first notice alone: what one file of a call meets, all of them may. */
function firstTo(onNotice: (text: string) => void): (text: string) => void {
  let isTold = false;
  return (text) => {
    if (!isTold) onNotice(text);
    isTold = true;
  };
}

async function readAll(from: Reading, files: readonly string[], signal: AbortSignal): Promise<string> {
  const texts: string[] = [];
  let room = MAX_TEXT_BYTES;
  for (const path of files.slice(0, MAX_FILES)) {
    if (room <= 0) break;
    const text = await readOne(from, { path, maxBytes: Math.min(room, MAX_BYTES_EACH) }, signal);
    room -= Buffer.byteLength(text);
    texts.push(`--- ${path} ---\n${text}`);
  }
  if (texts.length === 0) return "No file matches.";
  const rest = files.length - texts.length;
  return texts.join("\n") + (rest > 0 ? `\n[${rest} more files did not fit: read them with another call]` : "");
}

async function readOne(
  { workspace, onNotice }: Reading,
  { path, maxBytes }: { readonly path: string; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<string> {
  try {
    return await readText(workspace, { path, offset: 0, limit: DEFAULT_LINES, maxBytes }, signal);
  } catch (reason) {
    signal.throwIfAborted();
    const place = { tool: "read_many_files" };
    return `[not read: ${clientError(reason, "reading a file", place, onNotice).message}]`;
  }
}
