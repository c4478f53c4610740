import { ANONYMOUS } from "../../handler/caller.ts";
import { admit } from "../auth/admitted.ts";
import { pathOf, type Route, RPC_PATH } from "../http/route.ts";
import { type ConnectRoutesOptions, REDEEM_PATH } from "./options.ts";

/** The beginning of the paths of our own services. */
const OWN_SERVICES = "/devtool.v1alpha.";

/**
 * The routes of all services over Connect, gRPC and gRPC-Web, with server
 * reflection.
 *
 * The first request loads the libraries, which takes about 30 ms: a server that
 * only speaks A2A starts without them. The services of other clients than ours
 * are loaded by the first request for one.
 */
export function connectRoutes(options: ConnectRoutesOptions): Route[] {
  let own: Promise<Route["handle"]> | undefined;
  let all: Promise<Route["handle"]> | undefined;
  const handle: Route["handle"] = async (request, response) => {
    // A proxy speaks HTTP/1.1 to us. Without this header, nginx holds events
    // back until its buffer is full.
    if (request.httpVersionMajor === 1) {
      response.setHeader("x-accel-buffering", "no");
    }
    if (pathOf(request).startsWith(OWN_SERVICES)) {
      own ??= loadOwn(options);
      return (await own)(request, response);
    }
    all ??= loadAll(options);
    return (await all)(request, response);
  };
  const rpcs: Route = {
    name: "connect",
    access: "token",
    matches: (_method, path) => RPC_PATH.test(path),
    handle,
  };
  if (!options.browsers) return [rpcs];
  // The one rpc without credentials: the code in the request is the credential.
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
}

async function loadOwn(
  options: ConnectRoutesOptions,
): Promise<Route["handle"]> {
  const { createAdapter } = await import("./adapter.ts");
  return createAdapter(options);
}

async function loadAll(
  options: ConnectRoutesOptions,
): Promise<Route["handle"]> {
  const { createAdapter } = await import("./adapter.ts");
  const { registerOtherServices } = await import("./other-services.ts");
  const others = await options.loadOtherServices();
  return createAdapter(options, (router, own) =>
    registerOtherServices(router, own, others),
  );
}
