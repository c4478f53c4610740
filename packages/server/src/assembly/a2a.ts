import { loadOnce } from "../stream/load-once.ts";
import {
  agentPath,
  type Dialect,
  type DialectServices,
} from "../transport/dialect.ts";
import {
  CARD_PATHS,
  nothingServed,
  publicRoute,
  type Route,
  routeOf,
  withoutPrefix,
} from "../transport/http/route.ts";

/**
 * The paths of A2A: JSON-RPC, HTTP+JSON of 0.3, and that of 1.0 with or without
 * a tenant. They are known before what answers them is loaded.
 */
const PATHS =
  /^\/(a2a\/?|v1\/.*|([^/]+\/)?(message:\w+|tasks(\/.*)?|extendedAgentCard)|commands(:execute)?)?$/;

/**
 * A2A 0.3 and 1.0 with their agent cards, over JSON-RPC and HTTP+JSON, and over
 * gRPC where `connect()` is served. All but the cards require authentication.
 * Loaded by the first request for one.
 */
export function a2a(): Dialect {
  return (services) => {
    const load = loadOnce(async () => {
      const { createA2a } = await import("./a2a-routes.ts");
      return createA2a(services);
    });
    const handle: Route["handle"] = async (request, response) => {
      const { routes } = await load();
      const route = routeOf(routes, request);
      if (!route) return nothingServed(request, response);
      return route.handle(request, response);
    };
    const prefixes = prefixesOf(services);
    return [
      ...prefixes.flatMap((prefix) =>
        CARD_PATHS.map((path) => publicRoute(`${prefix}${path}`, handle)),
      ),
      {
        name: "A2A",
        access: "token",
        matches: (_method, path) =>
          prefixes.some(
            (prefix) =>
              (path === prefix || path.startsWith(`${prefix}/`)) &&
              PATHS.test(withoutPrefix(prefix, path)),
          ),
        handle,
      },
      { loadRpcs: async () => (await load()).registerRpcs },
    ];
  };
}

/** The path prefixes of the default agent, and of each by its name. */
function prefixesOf({ agents }: DialectServices): string[] {
  return ["", ...[...agents.keys()].map(agentPath)];
}
