import { takesMode } from "@devtool/schema";

/** The media types of what an agent answers with that says none: its words are Markdown at most. */
const OUTPUT_MODES: readonly string[] = ["text/plain", "text/markdown", "application/json"];

/**
 * Says why a client gets no answer that takes none of the media types of what an agent answers with; undefined when it
 * takes one.
 */
export function outputRefusal(
  accepted: readonly string[],
  outputModes: readonly string[] = OUTPUT_MODES,
): string | undefined {
  if (outputModes.some((mode) => takesMode(accepted, mode))) return undefined;
  const asked = accepted.map((mode) => JSON.stringify(mode.slice(0, 80))).join(", ");
  return `none of ${asked} can be sent: accept ${outputModes.join(" or ")}`;
}
