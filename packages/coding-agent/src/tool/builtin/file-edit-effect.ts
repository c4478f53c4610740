import { createHash } from "node:crypto";
import { posix } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type EditRecord, EditRecordSchema } from "@devtool/schema";
import type { EditState } from "../tool.ts";
import type { Workspace } from "../workspace.ts";

/** What an edit expects to find and what it leaves: enough to tell after a crash whether it was made. */
export function editRecord(path: string, oldContent: string | undefined, newContent: string): EditRecord {
  return create(EditRecordSchema, {
    path,
    newDigest: sha256(newContent),
    ...(oldContent !== undefined && { oldDigest: sha256(oldContent) }),
  });
}

/** Looks at the file whether an edit was made. A write replaces the whole file at once, so there is nothing in between. */
export function editState(workspace: Workspace, { path, oldDigest, newDigest }: EditRecord): EditState {
  const content = workspace.readFile(path);
  const current = content === undefined ? Buffer.alloc(0) : sha256(content);
  if (current.equals(newDigest)) return "done";
  return current.equals(oldDigest) ? "not begun" : "unknown";
}

/**
 * Finds out after a crash whether an edit was made that had begun, and clears away what the cut write left. An edit that
 * is `done` succeeded; one that is `not begun` may run as it was approved.
 */
export function settleEdit(workspace: Workspace, edit: EditRecord): EditState {
  const directory = posix.dirname(edit.path);
  if (directory === "." || workspace.readDirectory(directory)) workspace.removeLeftovers(directory);
  return editState(workspace, edit);
}

function sha256(content: string | Uint8Array): Buffer {
  return createHash("sha256").update(content).digest();
}
