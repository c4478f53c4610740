import {
  createRouterTransport,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import { type Caller, rightsKey } from "../../handler/caller.ts";
import { principalKey } from "../../handler/request-handler.ts";
import type { Served } from "../dialect.ts";
import { errorInterceptor } from "./errors.ts";
import type { ConnectOptions } from "./options.ts";
import { loadRpcs, registerServices } from "./services.ts";

/** Dependencies of `inProcessTransport`. */
export interface InProcessOptions
  extends Pick<ConnectOptions, "handler" | "shutdown" | "onError"> {
  /** What the dialects of the server serve. */
  readonly served: readonly Served[];
}

/**
 * Creates a transport to our own services, and to those of dialects, within
 * this process.
 *
 * @param caller who makes the calls
 */
export async function inProcessTransport(
  options: InProcessOptions,
  caller: Caller,
): Promise<Transport> {
  const others = await loadRpcs(options.served);
  const { onError, shutdown } = options;
  const interceptors: Interceptor[] = [
    (next) => (call) => {
      call.contextValues
        .set(principalKey, caller.principal)
        .set(rightsKey, caller.rights);
      return next(call);
    },
    errorInterceptor(onError),
  ];
  const router = { interceptors, shutdownSignal: shutdown };
  return createRouterTransport(
    (routes) => {
      registerServices(routes, options.handler);
      for (const register of others) register(routes);
    },
    { router },
  );
}
