import { relative } from "node:path";
import { oneLine, visibleText } from "@devtool/internal/visible-text";

/**
 * The maximum length, in characters, of the model's description of a command.
 */
const MAX_DESCRIPTION_LENGTH = 200;

/**
 * Describes a command on one line: in the model's words if it gave any,
 * otherwise by the command itself.
 *
 * A command with deceptive characters, such as control or bidirectional ones,
 * is always shown itself, with these escaped.
 */
export function commandDescription(
  command: string,
  modelDescription: string,
): string {
  return visibleText(command) === command && modelDescription.trim() !== ""
    ? oneLine(modelDescription, MAX_DESCRIPTION_LENGTH)
    : `Run ${oneLine(command)}`;
}

/**
 * Returns a note with the directory in which a command runs. Empty for the
 * workspace itself.
 */
export function directoryNote(
  workspacePath: string,
  workingDirectory: string,
): string {
  const path = relative(workspacePath, workingDirectory);
  return path === "" ? "" : ` (in ${visibleText(JSON.stringify(path))})`;
}
