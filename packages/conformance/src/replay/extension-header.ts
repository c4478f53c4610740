import { isExtensionUri } from "@devtool/schema";
import type { HttpRequest } from "../loopback/http-server.ts";

/**
 * Whether a request activates the extension, by the header of A2A 1.0 or that
 * of 0.3 (CARD-3).
 */
export function hasExtensionHeader({ headers }: HttpRequest): boolean {
  const uris = [headers["x-a2a-extensions"], headers["a2a-extensions"]]
    .flat()
    .join(",");
  return uris.split(",").some((uri) => isExtensionUri(uri.trim()));
}
