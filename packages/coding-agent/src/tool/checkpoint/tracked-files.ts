import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { relative } from "node:path";
import { Code, DevtoolError } from "@devtool/server/agent";
import { IgnoreWalk } from "../ignore-walk.ts";
import { MAX_FILE_BYTES, type Workspace } from "../workspace.ts";

/** The state of a file in a checkpoint. */
export interface TrackedFile {
  /** The id of the git blob with the content. */
  readonly blob: string;
  readonly mode: FileMode;
  /**
   * Who may read, write and run the file: its nine permission bits. Undefined
   * when it was read from a checkpoint of an earlier version, without them.
   */
  readonly permissions: number | undefined;
  /**
   * A summary of the file status when the content was read. Undefined when the
   * file was only read from a checkpoint.
   */
  readonly stamp: string | undefined;
  /**
   * The creation time of the file, in nanoseconds since 1970. 0 when it is
   * unknown.
   */
  readonly birthNs: bigint;
}

/** A file mode in git: a regular or an executable file. */
export type FileMode = "100644" | "100755";

/** The files of a workspace by path. */
export type TrackedFiles = ReadonlyMap<string, TrackedFile>;

/** Options of `trackFiles`. */
export interface TrackOptions {
  /** The files of the previous run, by which unchanged files are recognized. */
  readonly known: TrackedFiles;
  /** The path of a directory to skip, because the server keeps its data there. */
  readonly excluded: string;
  /** Receives each content that is not in `known`. */
  readonly onContent: (content: Buffer) => Promise<void>;
  /** Receives the path of each file and directory whose name is not UTF-8. */
  readonly onUnreadableName: (path: string) => void;
}

/**
 * The maximum time, in milliseconds, for which looking at the workspace may
 * delay a call.
 */
const MAX_SCAN_MS = 15_000;

/** The maximum number of files in a checkpoint. */
const MAX_FILES = 20_000;

/** The maximum total size of the files in a checkpoint, in bytes. */
const MAX_TOTAL_BYTES = 512n * 1024n * 1024n;

/**
 * Returns the state of the files in a workspace, without ignored files and
 * those of more than `MAX_FILE_BYTES`.
 *
 * Reads only files whose status has changed, and waits for `onContent` with
 * each new content. Throws `Code.ResourceExhausted` for a workspace that is too
 * large, and `Code.DeadlineExceeded` when it takes too long.
 */
export async function trackFiles(
  workspace: Workspace,
  options: TrackOptions,
  signal: AbortSignal,
): Promise<TrackedFiles> {
  const timeout = AbortSignal.timeout(MAX_SCAN_MS);
  try {
    const either = AbortSignal.any([signal, timeout]);
    return await readFiles(workspace, options, either);
  } catch (cause) {
    signal.throwIfAborted();
    if (!timeout.aborted) throw cause;
    const problem = `looking at the workspace took longer than ${MAX_SCAN_MS} ms`;
    throw new DevtoolError(problem, Code.DeadlineExceeded, {
      remedy: "name what to leave out in .devtoolignore",
      cause,
    });
  }
}

async function readFiles(
  workspace: Workspace,
  { known, excluded, onContent, onUnreadableName }: TrackOptions,
  signal: AbortSignal,
): Promise<TrackedFiles> {
  const files = new Map<string, TrackedFile>();
  let bytes = 0n;
  const walk = new IgnoreWalk({
    workspace,
    path: "",
    ignored: "skip",
    excluded: relative(workspace.root, await realpath(excluded)),
  });
  for await (const directory of walk.directories(signal)) {
    const wanted = new Set(directory.files);
    for (const path of [directory.path, ...directory.files]) {
      // A name that is not UTF-8 is listed with U+FFFD, and not found by that.
      const isUnreadable = path.includes("\ufffd") && !workspace.exists(path);
      if (isUnreadable) onUnreadableName(path);
    }
    for (const { name, stats } of wanted.size === 0
      ? []
      : workspace.filesIn(directory.path)) {
      const path = directory.path === "" ? name : `${directory.path}/${name}`;
      if (!wanted.has(path) || stats.size > BigInt(MAX_FILE_BYTES)) continue;
      bytes += stats.size;
      if (files.size >= MAX_FILES || bytes > MAX_TOTAL_BYTES) {
        const problem = `workspace has more than ${MAX_FILES} files or ${MAX_TOTAL_BYTES} bytes`;
        throw new DevtoolError(problem, Code.ResourceExhausted, {
          remedy: "name what to leave out in .devtoolignore",
        });
      }
      const before = known.get(path);
      // Every change of a file changes its stamp: a replaced file has another
      // inode, a written one another time.
      const stamp = [
        stats.ino,
        stats.size,
        stats.mode,
        stats.mtimeNs,
        stats.ctimeNs,
      ].join(" ");
      if (before?.stamp === stamp) {
        files.set(path, before);
        continue;
      }
      const content = readIfPossible(workspace, path);
      if (!content) continue;
      const blob = createHash("sha1")
        .update(`blob ${content.length}\0`)
        .update(content)
        .digest("hex");
      const mode = (stats.mode & 0o100n) === 0n ? "100644" : "100755";
      if (blob !== before?.blob) await onContent(content);
      const permissions = Number(stats.mode & 0o777n);
      const birthNs = stats.birthtimeNs;
      files.set(path, { blob, mode, permissions, stamp, birthNs });
    }
  }
  return files;
}

/**
 * Reads a file. Returns undefined for a file that cannot be read, because then
 * no tool can change it either.
 */
function readIfPossible(
  workspace: Workspace,
  path: string,
): Buffer | undefined {
  try {
    return workspace.readFile(path);
  } catch {
    return undefined;
  }
}

/**
 * Returns whether files are those of a checkpoint, with the same paths, contents
 * and permissions.
 */
export function isUnchanged(
  before: TrackedFiles,
  files: TrackedFiles,
): boolean {
  if (before.size !== files.size) return false;
  return [...files].every(([path, file]) => {
    const known = before.get(path);
    return known !== undefined && isAsKnown(file, known);
  });
}

/**
 * Returns whether a file is as a checkpoint has it, as far as that says so.
 */
export function isAsKnown(file: TrackedFile, known: TrackedFile): boolean {
  return (
    file.blob === known.blob &&
    file.mode === known.mode &&
    file.permissions === (known.permissions ?? file.permissions)
  );
}
