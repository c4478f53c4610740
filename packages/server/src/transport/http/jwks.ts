import type { JSONWebKeySet } from "jose";
import { documentRoute, type Route, send } from "./route.ts";

/** The path of the key set. */
export const JWKS_PATH = "/.well-known/jwks.json";

/**
 * `/.well-known/jwks.json`: the public keys for the signatures of this server.
 *
 * It needs no credentials.
 */
export function jwksRoutes(publicKeys: () => Promise<JSONWebKeySet>): Route[] {
  return [
    documentRoute(JWKS_PATH, async (_request, response) => {
      send(response, 200, {
        body: JSON.stringify(await publicKeys()),
        "content-type": "application/jwk-set+json",
        "cache-control": "public, max-age=300",
      });
    }),
  ];
}
