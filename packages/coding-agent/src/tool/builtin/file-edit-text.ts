import { isUtf8 } from "node:buffer";
import { Code, DevtoolError } from "@devtool/server/agent";
import type { Workspace } from "../workspace.ts";
import { describeContent } from "./read-file-kind.ts";

const BYTE_ORDER_MARK = "\u{feff}";

/** The text of a file that a tool edits; undefined when there is no file. Throws a `DevtoolError` when it holds no text. */
export function readEditable(workspace: Workspace, path: string): string | undefined {
  const content = workspace.readFile(path);
  if (content === undefined) return undefined;
  if (isUtf8(content) && !content.includes(0)) return content.toString("utf8");
  throw new DevtoolError(
    `file ${JSON.stringify(path)} is binary (${describeContent(content, content.length)}): only UTF-8 text can be edited`,
    Code.InvalidArgument,
  );
}

/** The text of a file that must be there. Throws a `DevtoolError` that names it. */
export function readExisting(workspace: Workspace, path: string): string {
  const text = readEditable(workspace, path);
  if (text !== undefined) return text;
  throw new DevtoolError(`file ${JSON.stringify(path)} does not exist`, Code.NotFound, {
    remedy: "write_file creates one",
  });
}

/** New content as the file that it replaces has it: with its line ends, when all are CRLF, and its byte order mark. */
export function inStyleOf(oldContent: string | undefined, newContent: string): string {
  if (oldContent === undefined || oldContent === "") return newContent;
  const marked = oldContent.startsWith(BYTE_ORDER_MARK) && !newContent.startsWith(BYTE_ORDER_MARK);
  return (marked ? BYTE_ORDER_MARK : "") + (hasCrlf(oldContent) ? withCrlf(newContent) : newContent);
}

/** One replacement of text. */
export interface Replacement {
  readonly oldText: string;
  readonly newText: string;
}

/**
 * Splits content at a text that shall be replaced, and says what to put between the pieces. A text with plain line ends
 * is also found in a file whose line ends are all CRLF, and replaced by one with CRLF.
 */
export function splitAt(
  content: string,
  { oldText, newText }: Replacement,
): { readonly pieces: readonly string[]; readonly between: string } {
  const pieces = content.split(oldText);
  if (pieces.length > 1 || !hasCrlf(content)) return { pieces, between: newText };
  return { pieces: content.split(withCrlf(oldText)), between: withCrlf(newText) };
}

/** Tells whether all line ends are CRLF, and there is one. */
function hasCrlf(text: string): boolean {
  return text.includes("\r\n") && !/(?<!\r)\n/.test(text);
}

function withCrlf(text: string): string {
  return text.replaceAll(/\r?\n/g, "\r\n");
}
