import { type HttpRequest, headerOf } from "./route.ts";

/**
 * Whether a client has the representation with an entity tag already, by its
 * `If-None-Match`: a list of tags, or `*` (RFC 9110, section 13.1.2). Tags that
 * a proxy has made weak are compared as if they were not.
 */
export function isKnownTag(request: HttpRequest, etag: string): boolean {
  const asked = headerOf(request, "if-none-match").trim();
  return (
    asked === "*" ||
    asked.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag)
  );
}
