import { type Route, send } from "./route.ts";

/** `/healthz`: the process answers. `/readyz`: it takes work; 503 while it starts or stops. */
export function healthRoutes(isReady: () => boolean): Route[] {
  return [probe("/healthz", () => true), probe("/readyz", isReady)];
}

function probe(path: string, isWell: () => boolean): Route {
  return {
    name: `GET ${path}`,
    access: "public",
    matches: (method, requested) => (method === "GET" || method === "HEAD") && requested === path,
    handle: (_request, response) => {
      const well = isWell();
      send(response, well ? 200 : 503, { body: JSON.stringify({ status: well ? "ok" : "unavailable" }) });
    },
  };
}
