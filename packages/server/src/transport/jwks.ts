import type { JSONWebKeySet } from "jose";
import { type Route, send } from "./route.ts";

/** `/.well-known/jwks.json`: the public halves of the keys that this server signs with, for everybody. */
export function jwksRoutes(publicKeys: () => Promise<JSONWebKeySet>): Route[] {
  const path = "/.well-known/jwks.json";
  return [
    {
      name: `GET ${path}`,
      access: "public",
      matches: (method, requested) => (method === "GET" || method === "HEAD") && requested === path,
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
