/** What some clients write for a media type. */
const SHORT: ReadonlyMap<string, string> = new Map([
  ["text", "text/*"],
  ["data", "application/json"],
  ["*", "*/*"],
]);

/**
 * Tells whether a client that lists the media types it takes in an answer takes one: by its name, or by a range such as
 * `text/*`. One that lists none takes all; parameters do not count.
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
