import {
  createRouterTransport,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import {
  agentsKey,
  bindingKey,
  type Caller,
  rightsKey,
  rolesKey,
  userTierKey,
} from "../handler/caller.ts";
import { newTaskIdKey, principalKey } from "../handler/request-handler.ts";
import { errorInterceptor } from "../transport/connect/errors.ts";
import type { ConnectOptions } from "../transport/connect/options.ts";
import { loadRpcs, registerServices } from "../transport/connect/services.ts";
import type { Served } from "../transport/dialect.ts";

/**
 * The header in which a caller within this process gives the id of the task that
 * its message creates.
 */
export const NEW_TASK_ID_HEADER = "devtool-new-task-id";

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
        .set(rightsKey, caller.rights)
        .set(rolesKey, caller.roles ?? [])
        .set(userTierKey, caller.userTier ?? "")
        .set(agentsKey, caller.agents)
        .set(newTaskIdKey, call.header.get(NEW_TASK_ID_HEADER) ?? "")
        .set(bindingKey, "in-process");
      return next(call);
    },
    errorInterceptor(onError),
    endWithClient(shutdown),
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

/**
 * Ends a stream whose client is gone. Within a process nobody would read it on,
 * and it would keep its task open. When the server stops, the client reads why.
 */
function endWithClient(shutdown: AbortSignal | undefined): Interceptor {
  return (next) => async (call) => {
    const response = await next(call);
    if (!response.stream) return response;
    const stream = response.message[Symbol.asyncIterator]();
    const end = (): void => {
      if (!shutdown?.aborted) stream.return?.().catch(() => undefined);
    };
    call.signal.addEventListener("abort", end, { once: true });
    return { ...response, message: { [Symbol.asyncIterator]: () => stream } };
  };
}
