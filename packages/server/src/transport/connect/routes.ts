import { loadOnce } from "@devtool/internal/load-once";
import {
  type Dialect,
  type DialectServices,
  publicRoute,
  route,
} from "../dialect.ts";
import type { RoutedCall } from "../http/routed-call.ts";
import { connectFailure } from "./failure-form.ts";
import { REDEEM_PATH } from "./options.ts";

type RouteHandler = (call: RoutedCall) => void;

/** The beginning of the paths of our own services. */
const OWN_SERVICES = "/devtool.v1alpha.";

/** The paths of Connect and gRPC: `/package.Service/Method`. */
const RPC_PATH = /^\/[a-z][\w.]*\.[A-Z]\w*\/[A-Z]\w*$/;

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
    const answer = async (call: RoutedCall): Promise<void> => {
      // A proxy speaks HTTP/1.1 to us. Without this header, nginx holds events
      // back until its buffer is full.
      if (call.request.httpVersionMajor === 1) {
        call.response.setHeader("x-accel-buffering", "no");
      }
      const load = call.path.startsWith(OWN_SERVICES) ? own : all;
      (await load())(call);
    };
    const rpcs = route(services, "*", RPC_PATH, answer, connectFailure);
    const named = { ...rpcs, name: "connect" };
    // The one rpc without credentials: the code in the request is the
    // credential.
    return services.browsers
      ? [publicRoute(services, "*", REDEEM_PATH, answer, connectFailure), named]
      : [named];
  };
}

async function loadOwn(services: DialectServices): Promise<RouteHandler> {
  const { createAdapter } = await import("./adapter.ts");
  return createAdapter(services);
}

async function loadAll(services: DialectServices): Promise<RouteHandler> {
  const { createAdapter } = await import("./adapter.ts");
  const { registerReflection } = await import("./reflection.ts");
  const { loadRpcs } = await import("./services.ts");
  const others = await loadRpcs(services.served());
  return createAdapter(services, (router) => {
    for (const register of others) register(router);
    registerReflection(router);
  });
}
