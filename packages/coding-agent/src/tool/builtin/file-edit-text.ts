import { isUtf8 } from "node:buffer";
import { Code, DevtoolError, invalid } from "@devtool/server/agent";
import { NO_EDITS } from "../pending-edits.ts";
import type { PendingEdits } from "../tool.ts";
import type { Workspace } from "../workspace.ts";
import { describeContent } from "./read-file-kind.ts";

const BYTE_ORDER_MARK = "\u{feff}";

/**
 * Returns the path of a file to edit, relative to the workspace. Throws
 * `Code.InvalidArgument` for a path that names a directory, such as `src/`.
 */
export function locateFile(workspace: Workspace, filePath: string): string {
  if (!/(^|\/)\.{0,2}$/.test(filePath)) return workspace.locate(filePath);
  throw invalid("file_path", filePath, "names a directory", "name a file");
}

/**
 * Reads a text file to edit, as pending edits leave it. Returns undefined when
 * it does not exist. Throws a `DevtoolError` for a binary file.
 */
export function readEditable(
  workspace: Workspace,
  path: string,
  pending: PendingEdits = NO_EDITS,
): string | undefined {
  const edited = pending.get(path);
  if (edited !== undefined) return edited;
  const content = workspace.readFile(path);
  if (content === undefined) return undefined;
  if (isUtf8(content) && !content.includes(0)) return content.toString("utf8");
  throw new DevtoolError(
    `file ${JSON.stringify(path)} is binary (${describeContent(content, content.length)}): only UTF-8 text can be edited`,
    Code.InvalidArgument,
  );
}

/**
 * Reads a text file to edit, as pending edits leave it. Throws a `DevtoolError`
 * when it does not exist or is binary.
 */
export function readExisting(
  workspace: Workspace,
  path: string,
  pending: PendingEdits = NO_EDITS,
): string {
  const text = readEditable(workspace, path, pending);
  if (text !== undefined) return text;
  throw new DevtoolError(
    `file ${JSON.stringify(path)} does not exist`,
    Code.NotFound,
    { remedy: "write_file creates one" },
  );
}

/**
 * Adapts new content to the file that it replaces: keeps its byte order mark,
 * and its line endings if all are CRLF.
 */
export function matchFileFormat(
  oldContent: string | undefined,
  newContent: string,
): string {
  if (oldContent === undefined || oldContent === "") return newContent;
  const needsMark =
    oldContent.startsWith(BYTE_ORDER_MARK) &&
    !newContent.startsWith(BYTE_ORDER_MARK);
  return (
    (needsMark ? BYTE_ORDER_MARK : "") +
    (hasCrlf(oldContent) ? withCrlf(newContent) : newContent)
  );
}

/** The outcome of `replaceAll`. */
export interface Replaced {
  readonly content: string;
  /** The number of places where the text was replaced. */
  readonly count: number;
}

/**
 * Replaces every occurrence of a text.
 *
 * In a file whose line endings are all CRLF, both texts have CRLF too. In one
 * with both kinds, a text that does not occur as it is is found with other line
 * endings, and the new text has those of the place.
 */
export function replaceAll(
  content: string,
  oldText: string,
  newText: string,
): Replaced {
  if (hasCrlf(content)) {
    return replaceExact(content, withCrlf(oldText), withCrlf(newText));
  }
  const exact = replaceExact(content, oldText, newText);
  if (exact.count > 0 || !content.includes("\r\n")) return exact;
  const lines = oldText
    .split(/\r?\n/)
    .map((line) => line.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  let count = 0;
  const replaced = content.replaceAll(
    new RegExp(lines.join("\\r?\\n"), "g"),
    (place) => {
      count++;
      return place.includes("\r\n") ? withCrlf(newText) : newText;
    },
  );
  return { content: replaced, count };
}

function replaceExact(
  content: string,
  oldText: string,
  newText: string,
): Replaced {
  const pieces = content.split(oldText);
  return { content: pieces.join(newText), count: pieces.length - 1 };
}

/** Whether a text has line endings and all of them are CRLF. */
function hasCrlf(text: string): boolean {
  return text.includes("\r\n") && !/(?<!\r)\n/.test(text);
}

function withCrlf(text: string): string {
  return text.replaceAll(/\r?\n/g, "\r\n");
}
