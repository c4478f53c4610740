import { Code, ConnectError } from "@connectrpc/connect";
import { holdsUser, shownUrl } from "@devtool/internal/shown-url";

/**
 * Returns the URL of an agent. In a web page it may be relative to the page.
 *
 * Throws `Code.InvalidArgument`, with the value, if it is empty or not an HTTP
 * URL, such as one that an environment variable lacks, or has a user name or a
 * password, which `fetch` refuses.
 */
export function agentUrl(url: string): URL {
  const page: unknown = Reflect.get(globalThis, "location");
  const base = page === undefined ? undefined : String(page);
  const parsed = url === "" ? null : URL.parse(url, base);
  const shown = JSON.stringify(shownUrl(url));
  if (holdsUser(url)) {
    throw new ConnectError(
      `${shown} has a user name or a password in front: leave them out, and pass a token`,
      Code.InvalidArgument,
    );
  }
  if (parsed && /^https?:$/.test(parsed.protocol)) return parsed;
  throw new ConnectError(
    `${shown} is not the URL of an agent: write it as http://127.0.0.1:41242`,
    Code.InvalidArgument,
  );
}
