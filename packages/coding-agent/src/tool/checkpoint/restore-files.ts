import { Code, DevtoolError } from "@devtool/server/agent";
import { listedPath } from "../listed-path.ts";
import type { Workspace } from "../workspace.ts";
import {
  isAsKnown,
  type TrackedFile,
  type TrackedFiles,
} from "./tracked-files.ts";

/** The changes that restore the files of a workspace to a checkpoint. */
export interface RestorePlan {
  /** The files to write, because they are missing or differ. */
  readonly write: readonly (readonly [path: string, file: TrackedFile])[];
  /**
   * The paths of files to remove, because they were created after the
   * checkpoint.
   */
  readonly remove: readonly string[];
  /**
   * The paths of files that are not in the checkpoint, but may be older than
   * it. They stay.
   */
  readonly keep: readonly string[];
}

/**
 * The changes that restoring a checkpoint would make, as paths relative to the
 * workspace.
 */
export interface RestorePreview {
  readonly id: string;
  readonly write: readonly string[];
  readonly remove: readonly string[];
}

/**
 * Compares the current files with those of a checkpoint.
 *
 * Only files in `current` are ever removed or replaced.
 */
export function planRestore(
  target: TrackedFiles,
  current: TrackedFiles,
  checkpointTime: Date,
): RestorePlan {
  // The time of a checkpoint is rounded down to milliseconds.
  const since = BigInt(checkpointTime.getTime() + 1) * 1_000_000n;
  const extra = [...current].filter(([path]) => !target.has(path));
  return {
    write: [...target].filter(([path, known]) => {
      const file = current.get(path);
      return !file || !isAsKnown(file, known);
    }),
    remove: extra
      .filter(([, { birthNs }]) => birthNs > since)
      .map(([path]) => path),
    keep: extra
      .filter(([, { birthNs }]) => birthNs <= since)
      .map(([path]) => path),
  };
}

/**
 * Throws `Code.Aborted` when a restore would change files that the user did not
 * see in the preview.
 */
export function assertPreviewed(
  { write, remove }: RestorePlan,
  preview: RestorePreview,
): void {
  const [written, removed] = [new Set(preview.write), new Set(preview.remove)];
  const unexpected = [
    ...write.map(([path]) => path).filter((path) => !written.has(path)),
    ...remove.filter((path) => !removed.has(path)),
  ];
  if (unexpected.length === 0) return;
  const rest =
    unexpected.length > 1 ? ` and ${unexpected.length - 1} more` : "";
  const problem = `${JSON.stringify(unexpected[0])}${rest} changed since it was shown what would be restored`;
  throw new DevtoolError(problem, Code.Aborted, { remedy: "try again" });
}

/**
 * Removes a file that was created after the checkpoint. Returns a line with the
 * outcome.
 */
export function removeFile(workspace: Workspace, path: string): string {
  try {
    workspace.removeFile(path);
    return `${listedPath(path)} (removed)`;
  } catch (reason) {
    return keptLine(path, reason);
  }
}

/**
 * Writes a file with the content and permissions of the checkpoint. Returns a
 * line with the outcome.
 *
 * Leaves a file alone that exists but is not tracked now, because its content
 * could not be restored later.
 */
export function writeFile(
  workspace: Workspace,
  [path, file]: readonly [path: string, file: TrackedFile],
  content: Buffer,
  current: TrackedFile | undefined,
): string {
  try {
    if (!current) {
      using existing = workspace.openFile(path);
      if (existing) {
        return `${listedPath(path)} (left as it is: it is ignored or too large now: move it away)`;
      }
    }
    workspace.writeFile(path, content, permissionsFor(file, current));
    return listedPath(path);
  } catch (reason) {
    return keptLine(path, reason);
  }
}

/**
 * Returns the permissions to write a file with; undefined for those that it has
 * now. Where the checkpoint does not know them, nobody but the owner gets any.
 */
function permissionsFor(
  { mode, permissions }: TrackedFile,
  current: TrackedFile | undefined,
): number | undefined {
  if (permissions !== undefined) return permissions;
  if (current?.mode === mode) return undefined;
  return mode === "100755" ? 0o700 : 0o600;
}

function keptLine(path: string, reason: unknown): string {
  return `${listedPath(path)} (left as it is: ${reason instanceof Error ? reason.message : "it cannot be written"})`;
}
