import { createContextValues } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { PushService, SlashCommandService, TaskService } from "@devtool/schema";
import { principalKey, type RequestHandler } from "../../handler/request-handler.ts";
import type { Route } from "../route.ts";
import { errorInterceptor } from "./errors.ts";
import { registerReflection } from "./reflection.ts";

/** What the routes need. */
export interface ConnectRoutesOptions {
  readonly handler: RequestHandler;
  /** Who the holder of the token is. */
  readonly principal: string;
  /** A request may have so many bytes. */
  readonly maxRequestBytes: number;
  /** Aborts when the server stops: ends the streams that have no end of their own. */
  readonly shutdown: AbortSignal;
  readonly onError: (reason: unknown) => void;
}

const SERVICES = [TaskService, SlashCommandService, PushService] as const;

/** Our services over Connect, gRPC and gRPC-Web, with server reflection. */
export function connectRoutes(options: ConnectRoutesOptions): Route[] {
  const { handler, principal } = options;
  const handle = connectNodeAdapter({
    routes: (router) => {
      router.service(TaskService, handler.tasks);
      router.service(SlashCommandService, handler.commands);
      router.service(PushService, handler.push);
      registerReflection(router, SERVICES);
    },
    contextValues: () => createContextValues().set(principalKey, principal),
    interceptors: [errorInterceptor(options.onError)],
    readMaxBytes: options.maxRequestBytes,
    shutdownSignal: options.shutdown,
  });
  return [{ name: "connect", access: "token", matches: (_method, path) => RPC_PATH.test(path), handle }];
}

/** `/package.Service/Method`. */
const RPC_PATH = /^\/[a-z][\w.]*\.[A-Z]\w*\/\w+$/;
