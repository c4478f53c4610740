import { connectNodeAdapter } from "@connectrpc/connect-node";
import { AuditService, PushService, SlashCommandService, TaskService } from "@devtool/schema";
import { A2AService, MessageQueueService } from "@devtool/schema/a2a-v1";
import { contextValuesOf } from "../auth/admitted.ts";
import type { Route } from "../http/route.ts";
import { boundedHandler, COMPRESSIONS } from "./bounded.ts";
import { errorInterceptor } from "./errors.ts";
import { blameClient } from "./malformed.ts";
import type { ConnectRoutesOptions } from "./options.ts";
import { registerReflection } from "./reflection.ts";

/** A request in JSON that holds an unknown field is refused: it may be a restriction, or what an approval hangs on (JSON-2). */
const STRICT = { jsonOptions: { ignoreUnknownFields: false } };

const OWN_SERVICES = [TaskService, SlashCommandService, PushService, AuditService] as const;

/** Makes what answers Connect, gRPC and gRPC-Web requests. */
export function createAdapter(options: ConnectRoutesOptions): Route["handle"] {
  const { handler } = options;
  return connectNodeAdapter({
    routes: (router) => {
      router.service(TaskService, handler.tasks, STRICT);
      router.service(SlashCommandService, handler.commands, STRICT);
      router.service(PushService, handler.push);
      router.service(AuditService, handler.audit);
      if (options.a2a) router.service(A2AService, options.a2a);
      if (options.queue) router.service(MessageQueueService, options.queue);
      const offered = [...(options.a2a ? [A2AService] : []), ...(options.queue ? [MessageQueueService] : [])];
      registerReflection(router, [...OWN_SERVICES, ...offered]);
      for (const [at, each] of router.handlers.entries()) {
        router.handlers[at] = boundedHandler(each, options.maxRequestBytes);
      }
    },
    contextValues: contextValuesOf,
    interceptors: [errorInterceptor(options.onError)],
    requestGate: blameClient,
    acceptCompression: COMPRESSIONS,
    readMaxBytes: options.maxRequestBytes,
    shutdownSignal: options.shutdown,
  });
}
