import { invalid } from "@devtool/server/agent";
import picomatch from "picomatch";
import { z } from "zod";
import { clientError } from "../../client-error.ts";
import { everyFile, FileFilter } from "../file-access.ts";
import { IgnoreWalk } from "../ignore-walk.ts";
import { listedPath } from "../listed-path.ts";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { Workspace } from "../workspace.ts";
import { findFiles, toRelativePattern } from "./glob.ts";
import { compilePathGlob, type GlobPattern } from "./glob-pattern.ts";
import { INCLUDE_IGNORED, ignoredNote } from "./list-directory.ts";
import { DEFAULT_LINES, readText } from "./read-file.ts";
import { MAX_TEXT_BYTES } from "./read-file-lines.ts";
import { Searches, type SearchOptions } from "./searches.ts";

const PARAMETERS = toolArgs({
  paths: z
    .array(z.string())
    .describe(
      'Files, directories or glob patterns, for instance ["README.md", "src/**/*.ts"].',
    ),
  ...INCLUDE_IGNORED,
});

/** The maximum number of files in a result. */
const MAX_FILES = 200;

/** The maximum number of paths and patterns. */
const MAX_PATTERNS = 50;

/** The maximum number of bytes of one file in a result. */
const MAX_BYTES_PER_FILE = 64 * 1024;

/**
 * Creates the tool `read_many_files`, which returns the texts of several files,
 * as many as fit: at most 200 files and 256 KiB, and 64 KiB of each.
 */
export function readManyFilesTool(
  workspace: Workspace,
  {
    access = everyFile,
    searches = new Searches(),
    onNotice = () => undefined,
  }: SearchOptions = {},
): Tool {
  return {
    declaration: {
      name: "read_many_files",
      description:
        "Reads several text files at once, by path or glob pattern. Use it when they belong together.",
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args) => {
      const { paths, include_ignored: includesIgnored } = PARAMETERS.read(args);
      readTargets(workspace, paths);
      const ignored = includesIgnored ? "include" : "skip";
      return {
        args,
        description: `Read ${paths.join(", ")}`,
        execute: async function* (signal) {
          // The paths are read again, for the files that exist by now.
          const targets = readTargets(workspace, paths);
          const named = targets.flatMap((target) =>
            target.case === "path" ? [target.path] : [],
          );
          const filter = new FileFilter(
            access({
              toolName: "read_many_files",
              args,
              named,
              shows: "content",
            }),
          );
          const text = await searches.run(async (limits) => {
            const selection = { targets, ignored, filter } as const;
            const { files, note } = await selectFiles(
              workspace,
              selection,
              limits,
            );
            return (await readFiles(workspace, files, onNotice, limits)) + note;
          }, signal);
          yield textResult(text + filter.note);
        },
      };
    },
  };
}

/**
 * An element of `paths`: a pattern, or the path of a file or directory relative
 * to the workspace.
 */
type Target = { readonly given: string } & (
  | { readonly case: "pattern"; readonly matches: GlobPattern }
  | { readonly case: "path"; readonly path: string }
);

/**
 * Reads the elements of `paths`. Throws for too many, for none, and for a path
 * outside the workspace.
 */
function readTargets(workspace: Workspace, paths: readonly string[]): Target[] {
  const targets = paths.map((path): Target => {
    const pattern = toRelativePattern(workspace, path);
    const exists = (name: string): boolean => workspace.exists(name);
    const isPath = !pattern.includes("*") && exists(pattern);
    if (!isPath && picomatch.scan(pattern).isGlob) {
      const matches = compilePathGlob("paths", pattern, exists);
      return { case: "pattern", given: path, matches };
    }
    return { case: "path", given: path, path: workspace.locate(path) };
  });
  if (targets.length === 0 || targets.length > MAX_PATTERNS) {
    throw invalid(
      "paths",
      "",
      `has ${targets.length} elements`,
      `give 1 to ${MAX_PATTERNS}`,
    );
  }
  return targets;
}

interface Selection {
  readonly targets: readonly Target[];
  readonly ignored: "skip" | "include";
  readonly filter: FileFilter;
}

/**
 * Finds the files of all targets, each once, and creates a note about targets
 * without a file and about ignored files.
 */
async function selectFiles(
  workspace: Workspace,
  { targets, ignored, filter }: Selection,
  signal: AbortSignal,
): Promise<{ readonly files: readonly string[]; readonly note: string }> {
  const files = new Set<string>();
  let note = "";
  let ignoredCount = 0;
  for (const target of targets) {
    const path = target.case === "path" ? target.path : "";
    const walk = new IgnoreWalk({ workspace, path, ignored });
    const matches = target.case === "pattern" ? target.matches : () => true;
    const found = await findFiles(walk, { matches, filter }, signal).catch(
      (reason: unknown) => {
        signal.throwIfAborted();
        if (path === "") throw reason;
        // A path that cannot be walked counts as a file; reading it then gives
        // the reason.
        return filter.keep([path]);
      },
    );
    for (const file of found) files.add(file);
    if (found.length === 0) {
      note += `\n[no file to show for ${JSON.stringify(target.given)}]`;
    }
    ignoredCount = Math.max(ignoredCount, walk.ignoredCount);
  }
  return { files: [...files], note: note + ignoredNote(ignoredCount) };
}

async function readFiles(
  workspace: Workspace,
  files: readonly string[],
  onNotice: (text: string) => void,
  signal: AbortSignal,
): Promise<string> {
  // One notice is enough: a fault of one file is probably a fault of all.
  let isNotified = false;
  const notifyOnce = (notice: string): void => {
    if (!isNotified) onNotice(notice);
    isNotified = true;
  };
  const texts: string[] = [];
  let remainingBytes = MAX_TEXT_BYTES;
  for (const path of files.slice(0, MAX_FILES)) {
    if (remainingBytes <= 0) break;
    const maxBytes = Math.min(remainingBytes, MAX_BYTES_PER_FILE);
    let text: string;
    try {
      text = await readText(
        workspace,
        path,
        { offset: 0, limit: DEFAULT_LINES, maxBytes },
        signal,
      );
    } catch (reason) {
      signal.throwIfAborted();
      text = `[not read: ${clientError(reason, "reading a file", { tool: "read_many_files" }, notifyOnce).message}]`;
    }
    remainingBytes -= Buffer.byteLength(text);
    texts.push(`--- ${listedPath(path)} ---\n${text}`);
  }
  if (texts.length === 0) return "No file matches.";
  const rest = files.length - texts.length;
  return (
    texts.join("\n") +
    (rest > 0
      ? `\n[${rest} more files did not fit: read them with another call]`
      : "")
  );
}
