import type { HttpRequest } from "../http/route.ts";

/** The version of A2A that a request names, in its header or its query; empty when it names none. */
export function versionOf(request: HttpRequest): string {
  const { headers, url } = request;
  const header = headers["a2a-version"];
  if (typeof header === "string" && header.trim() !== "") return header.trim();
  const query = (url ?? "").split("?", 2)[1] ?? "";
  return [...new URLSearchParams(query)].find(([name]) => name.toLowerCase() === "a2a-version")?.[1].trim() ?? "";
}

/** Tells whether a version is one of 1.x: of A2A's versions only major and minor count, and a later minor is compatible. */
export function isVersion1(version: string): boolean {
  return /^1(\.\d+){0,2}$/.test(version.trim());
}
