import { type HttpRequest, headerOf } from "../http/route.ts";

/** The bearer token of a request; empty when it has none, or more in the header than one. */
export function bearerOf(request: HttpRequest): string {
  const [scheme = "", credentials = "", ...rest] = headerOf(request, "authorization").split(" ");
  return scheme.toLowerCase() === "bearer" && rest.length === 0 ? credentials : "";
}
