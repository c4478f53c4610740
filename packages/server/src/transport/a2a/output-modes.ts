import { keepStart } from "@devtool/internal/cut-text";
import { takesMode } from "@devtool/internal/output-mode";

/**
 * The output media types of an agent that declares none: its text is Markdown
 * at most.
 */
const OUTPUT_MODES: readonly string[] = [
  "text/plain",
  "text/markdown",
  "application/json",
];

/**
 * Returns the reason to refuse a client that accepts none of an agent's output
 * media types; undefined for a client that accepts one.
 */
export function outputRefusal(
  accepted: readonly string[],
  outputModes: readonly string[] = OUTPUT_MODES,
): string | undefined {
  if (outputModes.some((mode) => takesMode(accepted, mode))) return undefined;
  const asked = accepted
    .map((mode) => JSON.stringify(keepStart(mode, 80)))
    .join(", ");
  return `none of ${asked} can be sent: accept ${outputModes.join(" or ")}`;
}
