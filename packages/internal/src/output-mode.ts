/** Short names that some clients send instead of media types. */
const SHORT: ReadonlyMap<string, string> = new Map([
  ["text", "text/*"],
  ["data", "application/json"],
  ["*", "*/*"],
]);

/**
 * Returns whether a client accepts a media type in a response.
 *
 * `modes` are the media types or ranges, such as `text/*`, that it lists; none
 * accepts all. Parameters are ignored.
 */
export function takesMode(
  modes: readonly string[],
  mediaType: string,
): boolean {
  if (modes.length === 0) return true;
  const asked = withoutParameters(mediaType);
  return modes.some((mode) => {
    const bare = withoutParameters(mode);
    const range = SHORT.get(bare) ?? bare;
    return (
      range === "*/*" ||
      range === asked ||
      (range.endsWith("/*") && asked.startsWith(range.slice(0, -1)))
    );
  });
}

function withoutParameters(mode: string): string {
  return (mode.split(";", 1)[0] ?? "").trim().toLowerCase();
}
