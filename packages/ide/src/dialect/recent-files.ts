import { isAbsolute } from "node:path";
import { keepStart } from "@devtool/internal/cut-text";
import type {
  EditorContext,
  OpenFile,
} from "../gen/devtool/ide/v1alpha/context_pb.ts";
import { MAX_FILES, MAX_SELECTION } from "../limits.ts";

const CUT = "… [cut]";

/**
 * Returns the files of a context that clients are told of, the active one first
 * and then the last one that the user looked at: at most ten, with absolute
 * paths, one of them active.
 */
export function recentFiles({ openFiles }: EditorContext): OpenFile[] {
  const files = openFiles
    .filter(({ path }) => isAbsolute(path))
    .sort(
      (one, other) =>
        Number(other.isActive) - Number(one.isActive) ||
        other.focusedAtMs - one.focusedAtMs,
    )
    .slice(0, MAX_FILES);
  return files.map((file, index) => ({
    ...file,
    isActive: file.isActive && index === 0,
    selectedText: cutSelection(file.selectedText),
  }));
}

/** Cuts a text that is too long at its end, and says so there. */
function cutSelection(text: string): string {
  return text.length <= MAX_SELECTION
    ? text
    : `${keepStart(text, MAX_SELECTION - CUT.length)}${CUT}`;
}
