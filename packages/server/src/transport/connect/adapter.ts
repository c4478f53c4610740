import { createContextValues } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { AuditService, PushService, SlashCommandService, TaskService } from "@devtool/schema";
import { principalKey } from "../../handler/request-handler.ts";
import type { Route } from "../route.ts";
import { errorInterceptor } from "./errors.ts";
import type { ConnectRoutesOptions } from "./options.ts";
import { registerReflection } from "./reflection.ts";

/** Makes what answers Connect, gRPC and gRPC-Web requests. */
export function createAdapter(options: ConnectRoutesOptions): Route["handle"] {
  const { handler, principal } = options;
  return connectNodeAdapter({
    routes: (router) => {
      router.service(TaskService, handler.tasks);
      router.service(SlashCommandService, handler.commands);
      router.service(PushService, handler.push);
      router.service(AuditService, handler.audit);
      registerReflection(router, [TaskService, SlashCommandService, PushService, AuditService]);
    },
    contextValues: () => createContextValues().set(principalKey, principal),
    interceptors: [errorInterceptor(options.onError)],
    readMaxBytes: options.maxRequestBytes,
    shutdownSignal: options.shutdown,
  });
}
