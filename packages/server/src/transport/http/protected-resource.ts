import { documentRoute, type Route, send } from "./route.ts";

/** The path of the metadata of a protected resource (RFC 9728). */
const METADATA_PATH = "/.well-known/oauth-protected-resource";

/** What clients need to know to get a token for a server. */
export interface ProtectedResource {
  /** The URL of the server, without a trailing slash. */
  readonly baseUrl: string;
  /** The issuer of the tokens that it accepts. */
  readonly issuer: string;
  /** The scopes that give rights; empty when none do. */
  readonly scopes: readonly string[];
}

/**
 * Returns the URL of the metadata. It is below the server's own URL, where also
 * a proxy that removes a path prefix leads to it.
 */
export function metadataUrl({
  baseUrl,
}: Pick<ProtectedResource, "baseUrl">): string {
  return `${baseUrl}${METADATA_PATH}`;
}

/**
 * `/.well-known/oauth-protected-resource`, also with the path of the server's
 * URL behind it (RFC 9728, section 3.1): who issues the tokens that the server
 * accepts.
 *
 * It needs no credentials.
 */
export function protectedResourceRoutes({
  baseUrl,
  issuer,
  scopes,
}: ProtectedResource): Route[] {
  const { pathname } = new URL(baseUrl);
  const paths =
    pathname === "/"
      ? [METADATA_PATH]
      : [METADATA_PATH, `${METADATA_PATH}${pathname}`];
  const body = JSON.stringify({
    resource: baseUrl,
    authorization_servers: [issuer],
    bearer_methods_supported: ["header"],
    ...(scopes.length > 0 && { scopes_supported: scopes }),
  });
  return paths.map((path) =>
    documentRoute(path, (_request, response) =>
      send(response, 200, { body, "cache-control": "public, max-age=300" }),
    ),
  );
}
