import { isUtf8 } from "node:buffer";
import { Code, DevtoolError } from "@devtool/server/agent";
import type { Workspace } from "../workspace.ts";
import { describeContent } from "./read-file-kind.ts";

const BYTE_ORDER_MARK = "\u{feff}";

/**
 * Reads a text file to edit. Returns undefined when it does not exist. Throws a
 * `DevtoolError` for a binary file.
 */
export function readEditable(
  workspace: Workspace,
  path: string,
): string | undefined {
  const content = workspace.readFile(path);
  if (content === undefined) return undefined;
  if (isUtf8(content) && !content.includes(0)) return content.toString("utf8");
  throw new DevtoolError(
    `file ${JSON.stringify(path)} is binary (${describeContent(content, content.length)}): only UTF-8 text can be edited`,
    Code.InvalidArgument,
  );
}

/**
 * Reads a text file to edit. Throws a `DevtoolError` when it does not exist or
 * is binary.
 */
export function readExisting(workspace: Workspace, path: string): string {
  const text = readEditable(workspace, path);
  if (text !== undefined) return text;
  throw new DevtoolError(
    `file ${JSON.stringify(path)} does not exist`,
    Code.NotFound,
    {
      remedy: "write_file creates one",
    },
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
 * In a file whose line endings are all CRLF, also finds a text with plain line
 * endings, and replaces it by one with CRLF.
 */
export function replaceAll(
  content: string,
  oldText: string,
  newText: string,
): Replaced {
  const pieces = content.split(oldText);
  if (pieces.length > 1 || !hasCrlf(content)) {
    return { content: pieces.join(newText), count: pieces.length - 1 };
  }
  const crlfPieces = content.split(withCrlf(oldText));
  return {
    content: crlfPieces.join(withCrlf(newText)),
    count: crlfPieces.length - 1,
  };
}

/** Whether a text has line endings and all of them are CRLF. */
function hasCrlf(text: string): boolean {
  return text.includes("\r\n") && !/(?<!\r)\n/.test(text);
}

function withCrlf(text: string): string {
  return text.replaceAll(/\r?\n/g, "\r\n");
}
