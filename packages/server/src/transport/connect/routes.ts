import { ANONYMOUS } from "../../handler/caller.ts";
import { loadOnce } from "../../stream/load-once.ts";
import { admit } from "../auth/admitted.ts";
import type { Dialect, DialectServices } from "../dialect.ts";
import { pathOf, type Route, RPC_PATH } from "../http/route.ts";
import { REDEEM_PATH } from "./options.ts";

/** The beginning of the paths of our own services. */
const OWN_SERVICES = "/devtool.v1alpha.";

/**
 * All services over Connect, gRPC and gRPC-Web, with server reflection: our own
 * ones and those of other dialects.
 *
 * The first request loads the libraries, which takes about 30 ms: a server that
 * only speaks A2A starts without them. The services of other dialects are
 * loaded by the first request for one.
 */
export function connect(): Dialect {
  return (services) => {
    const own = loadOnce(() => loadOwn(services));
    const all = loadOnce(() => loadAll(services));
    const handle: Route["handle"] = async (request, response) => {
      // A proxy speaks HTTP/1.1 to us. Without this header, nginx holds events
      // back until its buffer is full.
      if (request.httpVersionMajor === 1) {
        response.setHeader("x-accel-buffering", "no");
      }
      const load = pathOf(request).startsWith(OWN_SERVICES) ? own : all;
      return (await load())(request, response);
    };
    const rpcs: Route = {
      name: "connect",
      access: "token",
      matches: (_method, path) => RPC_PATH.test(path),
      handle,
    };
    if (!services.browsers) return [rpcs];
    // The one rpc without credentials: the code in the request is the
    // credential.
    const redeem: Route = {
      name: "redeem an access code",
      access: "public",
      matches: (_method, path) => path === REDEEM_PATH,
      handle: (request, response) => {
        admit(request, ANONYMOUS);
        return handle(request, response);
      },
    };
    return [redeem, rpcs];
  };
}

async function loadOwn(services: DialectServices): Promise<Route["handle"]> {
  const { createAdapter } = await import("./adapter.ts");
  return createAdapter(services);
}

async function loadAll(services: DialectServices): Promise<Route["handle"]> {
  const { createAdapter } = await import("./adapter.ts");
  const { registerReflection } = await import("./reflection.ts");
  const { loadRpcs } = await import("./services.ts");
  const others = await loadRpcs(services.served());
  return createAdapter(services, (router) => {
    for (const register of others) register(router);
    registerReflection(router);
  });
}
