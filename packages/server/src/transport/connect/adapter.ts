import type { DescService } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { AuditService, PushService, SlashCommandService, TaskService } from "@devtool/schema";
import { A2AService, MessageQueueService } from "@devtool/schema/a2a-v1";
import { contextValuesOf } from "../auth/admitted.ts";
import type { Route } from "../http/route.ts";
import { boundedHandler, COMPRESSIONS } from "./bounded.ts";
import { blameClient, errorInterceptor } from "./errors.ts";
import type { ConnectRoutesOptions } from "./options.ts";
import { registerReflection } from "./reflection.ts";

/**
 * Refuses JSON requests with unknown fields, which could be a restriction, or what an approval
 * depends on (JSON-2).
 */
const STRICT = { jsonOptions: { ignoreUnknownFields: false } };

/** Creates the request handler for Connect, gRPC and gRPC-Web. */
export function createAdapter(options: ConnectRoutesOptions): Route["handle"] {
  const { handler, a2a, queue, maxRequestBytes } = options;
  return connectNodeAdapter({
    routes: (router) => {
      const services: DescService[] = [TaskService, SlashCommandService, PushService, AuditService];
      router.service(TaskService, handler.tasks, STRICT);
      router.service(SlashCommandService, handler.commands, STRICT);
      router.service(PushService, handler.push);
      router.service(AuditService, handler.audit);
      if (a2a) {
        services.push(A2AService);
        router.service(A2AService, a2a);
      }
      if (queue) {
        services.push(MessageQueueService);
        router.service(MessageQueueService, queue);
      }
      registerReflection(router, services);
      for (const [at, each] of router.handlers.entries()) router.handlers[at] = boundedHandler(each, maxRequestBytes);
    },
    contextValues: contextValuesOf,
    interceptors: [errorInterceptor(options.onError)],
    requestGate: blameClient,
    acceptCompression: COMPRESSIONS,
    readMaxBytes: maxRequestBytes,
    shutdownSignal: options.shutdown,
  });
}
