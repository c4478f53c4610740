import type { ToolCall } from "@devtool/schema";
import type { BackgroundState } from "./background-processes.ts";

/** The name of the tool that returns the output of a background process. */
export const READ_NAME = "read_background_output";

/**
 * Whether a call has read the output of a background process that still ran:
 * then the next one of the same arguments does not repeat it.
 */
export function waitsForProcess({ toolName, result }: ToolCall): boolean {
  if (toolName !== READ_NAME || result.case !== "output") return false;
  const { case: kind, value } = result.value.result;
  return kind === "text" && /^background process \S+ runs /.test(value);
}

/** Describes a background process to the model. */
export function formatState(
  id: string,
  { command, output, end }: BackgroundState,
): string {
  let outcome = "runs";
  if (end?.error) {
    outcome = `could not be started: ${end.error.message}`;
  } else if (end) {
    outcome =
      end.signalName === ""
        ? `ended with exit code ${end.exitCode}`
        : `was ended by ${end.signalName}`;
  }
  return `background process ${id} ${outcome} (${command})\n${output}`;
}
