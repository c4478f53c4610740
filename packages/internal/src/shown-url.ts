/**
 * Returns a URL for a message: without its password, query and fragment, and one
 * of HTTP without its user name, which may be a token.
 *
 * Of a text that is not a URL, or may be read as another one because its
 * password has characters that a URL does not have, only the scheme is left.
 * Other texts are returned as they are.
 */
export function shownUrl(text: string): string {
  const url = URL.parse(text);
  const [scheme = ""] = /^\s*[\w+.-]+:\/\//.exec(text) ?? [];
  const mayHide = url
    ? `${url.pathname}${url.search}${url.hash}`.includes("@")
    : scheme !== "" || /[@?#]/.test(text);
  if (mayHide) return `${scheme}…`;
  if (!url) return text;
  const { username, password, search, hash } = url;
  const user = /^https?:$/.test(url.protocol) ? username : "";
  if (`${user}${password}${search}${hash}` === "") return text;
  if (user !== "") url.username = "";
  url.password = "";
  url.search = "";
  url.hash = "";
  return url.href;
}

/** Whether a text is a URL with a user name or a password. */
export function holdsUser(text: string): boolean {
  const { username = "", password = "" } = URL.parse(text) ?? {};
  return `${username}${password}` !== "";
}
