/**
 * Returns the address of a page that a user is asked to open, as a browser
 * reads it.
 *
 * Undefined for an address that would run something (`javascript:`), and for
 * one with a user or a password, which looks like another host's.
 */
export function pageAddress(text: string): string | undefined {
  const url = URL.parse(text);
  const isPage =
    url &&
    ["https:", "http:"].includes(url.protocol) &&
    url.username === "" &&
    url.password === "";
  return isPage ? url.href : undefined;
}
