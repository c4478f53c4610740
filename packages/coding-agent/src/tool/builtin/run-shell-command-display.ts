import { relative } from "node:path";
import { oneLine, visibleText } from "@devtool/schema";

/** The maximum length of what a model says of its command, in characters. */
const MAX_WORDS_LENGTH = 200;

/**
 * Says on one line what a command would do: in the model's words, or else by itself. A command with characters that
 * deceive is always shown, with those escaped.
 */
export function commandDescription(command: string, words: string): string {
  return visibleText(command) === command && words.trim() !== ""
    ? oneLine(words, MAX_WORDS_LENGTH)
    : `Run ${oneLine(command)}`;
}

/** Says where a command runs, behind its description; empty for the workspace itself. */
export function directoryWords(workspace: string, workingDirectory: string): string {
  const path = relative(workspace, workingDirectory);
  return path === "" ? "" : ` (in ${visibleText(JSON.stringify(path))})`;
}
