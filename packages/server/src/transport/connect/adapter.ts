import { connectNodeAdapter } from "@connectrpc/connect-node";
import { AuditService, PushService, SlashCommandService, TaskService } from "@devtool/schema";
import { A2AService } from "@devtool/schema/a2a-v1";
import { contextValuesOf } from "../auth/admitted.ts";
import type { Route } from "../route.ts";
import { errorInterceptor } from "./errors.ts";
import { blameClient } from "./malformed.ts";
import type { ConnectRoutesOptions } from "./options.ts";
import { registerReflection } from "./reflection.ts";

const OWN_SERVICES = [TaskService, SlashCommandService, PushService, AuditService] as const;

/** Makes what answers Connect, gRPC and gRPC-Web requests. */
export function createAdapter(options: ConnectRoutesOptions): Route["handle"] {
  const { handler } = options;
  return connectNodeAdapter({
    routes: (router) => {
      router.service(TaskService, handler.tasks);
      router.service(SlashCommandService, handler.commands);
      router.service(PushService, handler.push);
      router.service(AuditService, handler.audit);
      if (options.a2a) router.service(A2AService, options.a2a);
      registerReflection(router, [...OWN_SERVICES, ...(options.a2a ? [A2AService] : [])]);
    },
    contextValues: contextValuesOf,
    interceptors: [errorInterceptor(options.onError)],
    requestGate: blameClient,
    readMaxBytes: options.maxRequestBytes,
    shutdownSignal: options.shutdown,
  });
}
