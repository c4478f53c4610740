import { hash } from "node:crypto";
import { posix } from "node:path";
import type { EditRecord } from "@devtool/schema";
import type { EditState } from "../tool.ts";
import type { Workspace } from "../workspace.ts";

/**
 * Determines from the content of a file whether an edit was made.
 *
 * A write replaces the whole file at once, so there is no state in between.
 */
export function editState(
  workspace: Workspace,
  { path, oldDigest, newDigest }: EditRecord,
): EditState {
  const content = workspace.readFile(path);
  const digest =
    content === undefined ? Buffer.alloc(0) : hash("sha256", content, "buffer");
  if (digest.equals(newDigest)) return "done";
  return digest.equals(oldDigest) ? "not begun" : "unknown";
}

/**
 * Determines the state of an edit that was in progress when the server stopped,
 * and removes its temporary files.
 *
 * An edit in state `done` has succeeded. An edit in state `not begun` may run
 * as it was approved.
 */
export function settleEdit(workspace: Workspace, edit: EditRecord): EditState {
  const directory = posix.dirname(edit.path);
  if (directory === "." || workspace.readDirectory(directory)) {
    workspace.removeLeftovers(directory);
  }
  return editState(workspace, edit);
}
