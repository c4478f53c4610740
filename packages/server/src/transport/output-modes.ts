import { takesMode } from "@devtool/schema";

/** The media types of what agents answer with. */
export const OUTPUT_MODES = ["text/plain", "text/markdown", "application/json"] as const;

/** Says why a client gets no answer that takes none of the media types that there are; undefined when it takes one. */
export function outputRefusal(acceptedModes: readonly string[]): string | undefined {
  if (OUTPUT_MODES.some((mode) => takesMode(acceptedModes, mode))) return undefined;
  const asked = acceptedModes.map((mode) => JSON.stringify(mode.slice(0, 80))).join(", ");
  return `none of ${asked} can be sent: accept ${OUTPUT_MODES.join(" or ")}`;
}
