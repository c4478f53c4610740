import type { JSONWebKeySet } from "jose";
import { type Route, send } from "./route.ts";

/** Where the key set is. */
export const JWKS_PATH = "/.well-known/jwks.json";

/** `/.well-known/jwks.json`: the public halves of the keys that this server signs with, for everybody. */
export function jwksRoutes(publicKeys: () => Promise<JSONWebKeySet>): Route[] {
  return [
    {
      name: `GET ${JWKS_PATH}`,
      access: "public",
      matches: (method, requested) => (method === "GET" || method === "HEAD") && requested === JWKS_PATH,
      handle: async (_request, response) => {
        const body = JSON.stringify(await publicKeys());
        send(response, 200, {
          body,
          "content-type": "application/jwk-set+json",
          "cache-control": "public, max-age=300",
        });
      },
    },
  ];
}
