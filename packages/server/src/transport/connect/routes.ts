import { type Route, RPC_PATH } from "../http/route.ts";
import type { ConnectRoutesOptions } from "./options.ts";

/**
 * Our services over Connect, gRPC and gRPC-Web, with server reflection. Their machinery is loaded by the first request:
 * a server that only speaks A2A starts sooner and stays smaller.
 */
export function connectRoutes(options: ConnectRoutesOptions): Route[] {
  let loading: Promise<Route["handle"]> | undefined;
  const load = async (): Promise<Route["handle"]> => (await import("./adapter.ts")).createAdapter(options);
  return [
    {
      name: "connect",
      access: "token",
      matches: (_method, path) => RPC_PATH.test(path),
      handle: async (request, response) => {
        // A proxy speaks HTTP/1.1 to us. Without this, nginx would hold back events until its buffer is full.
        if (request.httpVersionMajor === 1) response.setHeader("x-accel-buffering", "no");
        loading ??= load();
        return (await loading)(request, response);
      },
    },
  ];
}
