import { type Route, RPC_PATH } from "../http/route.ts";
import type { ConnectRoutesOptions } from "./options.ts";

/**
 * The route of our services over Connect, gRPC and gRPC-Web, with server reflection.
 *
 * The first request loads the libraries, which takes about 30 ms: a server that only speaks A2A
 * starts without them.
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
        // A proxy speaks HTTP/1.1 to us. Without this header, nginx holds events back until its buffer is full.
        if (request.httpVersionMajor === 1) response.setHeader("x-accel-buffering", "no");
        loading ??= load();
        return (await loading)(request, response);
      },
    },
  ];
}
