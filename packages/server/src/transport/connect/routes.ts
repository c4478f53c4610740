import type { Route } from "../route.ts";
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
        loading ??= load();
        return (await loading)(request, response);
      },
    },
  ];
}

/** `/package.Service/Method`. */
const RPC_PATH = /^\/[a-z][\w.]*\.[A-Z]\w*\/\w+$/;
