import { createHash } from "node:crypto";
import { posix } from "node:path";
import type { Workspace } from "../workspace.ts";

/** What an edit expects to find and what it leaves, by hash: enough to tell after a crash whether it was made. */
export interface FileEffect {
  /** The path in the workspace. */
  readonly path: string;
  /** The SHA-256 of the content before, in hex; undefined when there was no file. */
  readonly oldSha256: string | undefined;
  /** The SHA-256 of the content after, in hex. */
  readonly newSha256: string;
}

/** How far an edit has come: `done`, `not begun`, or `unknown` when the file is neither as before nor as after. */
export type EditState = "done" | "not begun" | "unknown";

/** The effect of a change from one content to another. */
export function fileEffect(path: string, oldContent: string | undefined, newContent: string): FileEffect {
  return { path, oldSha256: oldContent === undefined ? undefined : sha256(oldContent), newSha256: sha256(newContent) };
}

/** Looks at the file whether an edit was made. A write replaces the whole file at once, so there is nothing in between. */
export function editState(workspace: Workspace, effect: FileEffect): EditState {
  const content = workspace.readFile(effect.path);
  const current = content === undefined ? undefined : sha256(content);
  if (current === effect.newSha256) return "done";
  return current === effect.oldSha256 ? "not begun" : "unknown";
}

/**
 * Finds out after a crash whether an edit was made that had begun, and clears away what the cut write left. An edit that
 * is `done` succeeded; one that is `not begun` may run as it was approved.
 */
export function settleEdit(workspace: Workspace, effect: FileEffect): EditState {
  const directory = posix.dirname(effect.path);
  if (directory === "." || workspace.readDirectory(directory)) workspace.removeLeftovers(directory);
  return editState(workspace, effect);
}

function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
