import type { DescService } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createConnectRouter,
  createRouterTransport,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import {
  AgentListService,
  AuditService,
  BrowserAccessService,
  PushService,
  SlashCommandService,
  TaskService,
  WorkspaceService,
} from "@devtool/schema";
import { A2AService, MessageQueueService } from "@devtool/schema/a2a-v1";
import { SessionService } from "@devtool/schema/codex";
import { type Caller, rightsKey } from "../../handler/caller.ts";
import { principalKey } from "../../handler/request-handler.ts";
import { contextValuesOf } from "../auth/admitted.ts";
import { isDisconnection } from "../http/client-gone.ts";
import { nothingServed, pathOf, type Route } from "../http/route.ts";
import { boundedHandler, COMPRESSIONS } from "./bounded.ts";
import { blameClient, errorInterceptor, httpRequestKey } from "./errors.ts";
import { refuseHttp1, withOwnVersionCheck } from "./http2-only.ts";
import { refuseValuesWithoutJson } from "./json-encodable.ts";
import { type ConnectRoutesOptions, REDEEM_PATH } from "./options.ts";
import { registerReflection } from "./reflection.ts";

/**
 * Refuses JSON requests with unknown fields, which could be a restriction, or what an approval
 * depends on (JSON-2).
 */
const STRICT = { jsonOptions: { ignoreUnknownFields: false } };

/** Maximum size in bytes of a request without credentials. It holds a code; a larger limit would let anybody take memory. */
const MAX_ANONYMOUS_BYTES = 4096;

/**
 * Creates the request handler for Connect, gRPC and gRPC-Web.
 *
 * The library's own adapter prints an error for each client that drops its connection.
 */
export function createAdapter(options: ConnectRoutesOptions): Route["handle"] {
  const { maxRequestBytes, onError } = options;
  const limitOf = ({ requestPath }: { readonly requestPath: string }): number =>
    requestPath === REDEEM_PATH ? MAX_ANONYMOUS_BYTES : maxRequestBytes;
  const handlers = new Map(
    createRouter(options).handlers.map((each) => [each.requestPath, boundedHandler(each, limitOf(each))]),
  );
  return (request, response) => {
    const handle = handlers.get(pathOf(request));
    if (!handle) return nothingServed(request, response);
    const values = contextValuesOf(request).set(httpRequestKey, request);
    const call = universalRequestFromNodeRequest(request, response, undefined, values);
    // Not awaited: with HTTP/1.1, the promise of a response that was written never resolves.
    handle(withOwnVersionCheck(call))
      .then((answer) => universalResponseToNodeResponse(answer, response))
      .catch((reason: unknown) => {
        const isEnded = ConnectError.from(reason).code === Code.Aborted;
        if (!isEnded && !isDisconnection(request, reason)) onError(reason);
      });
  };
}

/**
 * Creates a transport to our own services within this process.
 *
 * @param caller who makes the calls
 */
export function inProcessTransport(options: ConnectRoutesOptions, caller: Caller): Transport {
  const asCaller: Interceptor = (next) => (call) => {
    call.contextValues.set(principalKey, caller.principal).set(rightsKey, caller.rights);
    return next(call);
  };
  const { onError, shutdown } = options;
  const router = { interceptors: [asCaller, errorInterceptor(onError)], shutdownSignal: shutdown };
  return createRouterTransport((routes) => void registerServices(routes, options), { router });
}

function createRouter(options: ConnectRoutesOptions): ConnectRouter {
  const { a2a, queue, browsers, maxRequestBytes, onError, shutdown } = options;
  const router = createConnectRouter({
    interceptors: [errorInterceptor(onError), refuseHttp1, refuseValuesWithoutJson],
    requestGate: blameClient,
    acceptCompression: COMPRESSIONS,
    readMaxBytes: maxRequestBytes,
    shutdownSignal: shutdown,
  });
  const services = registerServices(router, options);
  if (browsers) {
    services.push(BrowserAccessService);
    router.service(BrowserAccessService, browsers, STRICT);
  }
  if (a2a) {
    services.push(A2AService);
    router.service(A2AService, a2a);
  }
  if (queue) {
    services.push(MessageQueueService);
    router.service(MessageQueueService, queue);
  }
  registerReflection(router, services);
  return router;
}

/** Registers our own services. Returns their descriptions. */
function registerServices(router: ConnectRouter, { handler, sessions }: ConnectRoutesOptions): DescService[] {
  const services: DescService[] = [
    TaskService,
    SlashCommandService,
    PushService,
    AuditService,
    AgentListService,
    WorkspaceService,
  ];
  router.service(TaskService, handler.tasks, STRICT);
  router.service(SlashCommandService, handler.commands, STRICT);
  router.service(PushService, handler.push);
  router.service(AuditService, handler.audit);
  router.service(AgentListService, handler.agents);
  router.service(WorkspaceService, handler.workspaces);
  if (sessions) {
    services.push(SessionService);
    router.service(SessionService, sessions, STRICT);
  }
  return services;
}
