import {
  createRouterTransport,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import { SessionService } from "@devtool/schema/codex";
import { type Caller, rightsKey } from "../../handler/caller.ts";
import { principalKey } from "../../handler/request-handler.ts";
import { errorInterceptor } from "./errors.ts";
import type { ConnectRoutesOptions, OtherServices } from "./options.ts";
import { registerServices, STRICT } from "./services.ts";

/** Dependencies of `inProcessTransport`. */
export type InProcessOptions = Pick<
  ConnectRoutesOptions,
  "handler" | "shutdown" | "onError"
> &
  Pick<OtherServices, "sessions">;

/**
 * Creates a transport to our own services within this process.
 *
 * @param caller who makes the calls
 */
export function inProcessTransport(
  options: InProcessOptions,
  caller: Caller,
): Transport {
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
      routes.service(SessionService, options.sessions, STRICT);
    },
    { router },
  );
}
