import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { Code, DevtoolError } from "@devtool/server/agent";
import { IgnoreWalk } from "../ignore-walk.ts";
import { MAX_FILE_BYTES, type Workspace } from "../workspace.ts";

/** A file as a checkpoint has it. */
export interface TrackedFile {
  /** The id of the git blob with its content. */
  readonly blob: string;
  readonly mode: FileMode;
  /** What the file system said when the content was read; undefined when it is known from a checkpoint only. */
  readonly stamp: string | undefined;
  /** When the file was made, in nanoseconds since 1970; 0 when that is not known. */
  readonly birthNs: bigint;
}

/** What git keeps of a mode. */
export type FileMode = "100644" | "100755";

/** The files of a workspace by path. */
export type TrackedFiles = ReadonlyMap<string, TrackedFile>;

/** How a workspace is looked at. */
export interface TrackOptions {
  /** The files as they were before. */
  readonly known: TrackedFiles;
  /** A directory of ours that takes no part, as a path in the workspace. */
  readonly without: string;
  /** Takes content that was not known. */
  readonly onContent: (content: Buffer) => Promise<void>;
}

/** So much is looked at for one checkpoint. */
const MAX_FILES = 20_000;
const MAX_TOTAL_BYTES = 512n * 1024n * 1024n;

/**
 * Looks at the files of a workspace: all that is not ignored and not larger than a file may be. Reads those that do not look as they
 * did, and hands content that was not known to `onContent`, before it goes on. Throws `Code.ResourceExhausted` for a
 * workspace that is too large.
 */
export async function trackFiles(
  workspace: Workspace,
  { known, without, onContent }: TrackOptions,
  signal: AbortSignal,
): Promise<TrackedFiles> {
  const files = new Map<string, TrackedFile>();
  let bytes = 0n;
  const walk = new IgnoreWalk({ workspace, path: "", ignored: "skip", without });
  for await (const directory of walk.directories(signal)) {
    for (const [path, stats] of statsOf(workspace, directory)) {
      if (stats.size > BigInt(MAX_FILE_BYTES)) continue;
      bytes += stats.size;
      if (files.size >= MAX_FILES || bytes > MAX_TOTAL_BYTES) throw tooLarge();
      const before = known.get(path);
      const stamp = stampOf(stats);
      const content = before?.stamp === stamp ? undefined : readable(workspace, path);
      if (before?.stamp === stamp) files.set(path, before);
      if (!content) continue;
      const file = { blob: blobId(content), mode: modeOf(stats), stamp, birthNs: stats.birthtimeNs };
      if (file.blob !== before?.blob) await onContent(content);
      files.set(path, file);
    }
  }
  return files;
}

function* statsOf(
  workspace: Workspace,
  { path, files }: { readonly path: string; readonly files: readonly string[] },
): Iterable<readonly [string, BigIntStats]> {
  if (files.length === 0) return;
  const wanted = new Set(files);
  for (const { name, stats } of workspace.filesIn(path)) {
    const below = path === "" ? name : `${path}/${name}`;
    if (wanted.has(below)) yield [below, stats];
  }
}

/** Changes with each change of the file: a replaced one is another inode, a written one has another time. */
function stampOf({ ino, size, mode, mtimeNs, ctimeNs }: BigIntStats): string {
  return [ino, size, mode, mtimeNs, ctimeNs].join(" ");
}

function modeOf({ mode }: BigIntStats): FileMode {
  return (mode & 0o100n) === 0n ? "100644" : "100755";
}

/** The content of a file; undefined for one that cannot be read, which no tool can change either. */
function readable(workspace: Workspace, path: string): Buffer | undefined {
  try {
    return workspace.readFile(path);
  } catch {
    return undefined;
  }
}

function blobId(content: Buffer): string {
  return createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
}

function tooLarge(): DevtoolError {
  return new DevtoolError(
    `workspace has more than ${MAX_FILES} files or ${MAX_TOTAL_BYTES} bytes`,
    Code.ResourceExhausted,
    { remedy: "name what to leave out in .devtoolignore" },
  );
}
