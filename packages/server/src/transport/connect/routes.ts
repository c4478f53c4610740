import { ANONYMOUS } from "../../handler/caller.ts";
import { admit } from "../auth/admitted.ts";
import { type Route, RPC_PATH } from "../http/route.ts";
import { type ConnectRoutesOptions, REDEEM_PATH } from "./options.ts";

/**
 * The route of our services over Connect, gRPC and gRPC-Web, with server
 * reflection.
 *
 * The first request loads the libraries, which takes about 30 ms: a server that
 * only speaks A2A starts without them.
 */
export function connectRoutes(options: ConnectRoutesOptions): Route[] {
  let loading: Promise<Route["handle"]> | undefined;
  const handle: Route["handle"] = async (request, response) => {
    // A proxy speaks HTTP/1.1 to us. Without this header, nginx holds events
    // back until its buffer is full.
    if (request.httpVersionMajor === 1) {
      response.setHeader("x-accel-buffering", "no");
    }
    loading ??= loadAdapter(options);
    return (await loading)(request, response);
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

async function loadAdapter(
  options: ConnectRoutesOptions,
): Promise<Route["handle"]> {
  const { createAdapter } = await import("./adapter.ts");
  return createAdapter({ ...options, ...(await options.loadOtherServices()) });
}
