import type { Workspace } from "../workspace.ts";
import type { TrackedFile, TrackedFiles } from "./tracked-files.ts";

/** How the files of a workspace get to where a checkpoint has them. */
export interface RestorePlan {
  /** What is written: it is gone or differs. */
  readonly write: readonly (readonly [string, TrackedFile])[];
  /** What is removed: it was made after the checkpoint. */
  readonly remove: readonly string[];
  /** What is neither in the checkpoint nor known to be newer. */
  readonly keep: readonly string[];
}

/** Compares the files that there are with those of a checkpoint. Only files that there are as `current` are ever removed or replaced. */
export function planRestore(
  target: TrackedFiles,
  current: TrackedFiles,
  { checkpointTime }: { readonly checkpointTime: Date },
): RestorePlan {
  // A checkpoint has its time in milliseconds, cut off.
  const since = BigInt(checkpointTime.getTime() + 1) * 1_000_000n;
  const extra = [...current].filter(([path]) => !target.has(path));
  return {
    write: [...target].filter(([path, file]) => !isSame(file, current.get(path))),
    remove: extra.filter(([, { birthNs }]) => birthNs > since).map(([path]) => path),
    keep: extra.filter(([, { birthNs }]) => birthNs <= since).map(([path]) => path),
  };
}

/** Removes a file that was made after the checkpoint. Gives a line that says so, or why it was not done. */
export function removeFile(workspace: Workspace, path: string): string {
  return attempt(path, `${path} (removed)`, () => {
    workspace.removeFile(path);
    return undefined;
  });
}

/** Writes a file as the checkpoint has it. Leaves alone what is there and is no tracked file now: it could not be brought back. */
export function writeFile(
  workspace: Workspace,
  [path, { mode }]: readonly [string, TrackedFile],
  { content, current }: { readonly content: Buffer; readonly current: TrackedFile | undefined },
): string {
  return attempt(path, path, () => {
    if (!current && isThere(workspace, path)) return "is ignored or too large now: move it away";
    const kept = current?.mode === mode ? undefined : mode === "100755" ? 0o755 : 0o644;
    workspace.writeFile(path, content, kept);
    return undefined;
  });
}

function isSame(one: TrackedFile, other: TrackedFile | undefined): boolean {
  return other?.blob === one.blob && other.mode === one.mode;
}

function isThere(workspace: Workspace, path: string): boolean {
  using file = workspace.openFile(path);
  return file !== undefined;
}

function attempt(path: string, done: string, run: () => string | undefined): string {
  try {
    const problem = run();
    return problem !== undefined ? `${path} (left as it is: it ${problem})` : done;
  } catch (reason) {
    return `${path} (left as it is: ${reason instanceof Error ? reason.message : "it cannot be written"})`;
  }
}
