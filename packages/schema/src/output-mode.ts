/** Short names that some clients send instead of media types. */
const SHORT: ReadonlyMap<string, string> = new Map([
  ["text", "text/*"],
  ["data", "application/json"],
  ["*", "*/*"],
]);

/**
 * Returns whether a client accepts a media type in a response.
 *
 * `modes` are the media types or ranges, such as `text/*`, that it lists; none accepts all. Parameters are ignored.
 */
export function takesMode(modes: readonly string[], mediaType: string): boolean {
  const asked = bare(mediaType);
  return modes.length === 0 || modes.some((mode) => covers(bare(mode), asked));
}

function covers(mode: string, mediaType: string): boolean {
  const range = SHORT.get(mode) ?? mode;
  return range === "*/*" || range === mediaType || (range.endsWith("/*") && mediaType.startsWith(range.slice(0, -1)));
}

function bare(mode: string): string {
  return (mode.split(";", 1)[0] ?? "").trim().toLowerCase();
}
