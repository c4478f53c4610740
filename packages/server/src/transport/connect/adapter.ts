import type { Readable, Writable } from "node:stream";
import type { DescService, Message } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createConnectRouter,
  createRouterTransport,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import {
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import {
  AgentListService,
  AuditService,
  assertJsonEncodable,
  BrowserAccessService,
  PushService,
  SlashCommandService,
  TaskService,
  WorkspaceService,
} from "@devtool/schema";
import { A2AService, MessageQueueService } from "@devtool/schema/a2a-v1";
import { SessionService } from "@devtool/schema/codex";
import { DevtoolError } from "../../errors.ts";
import {
  type Caller,
  contextValuesFor,
  rightsKey,
} from "../../handler/caller.ts";
import { principalKey } from "../../handler/request-handler.ts";
import { callerOf } from "../auth/admitted.ts";
import { isDisconnection } from "../http/client-gone.ts";
import { nothingServed, pathOf, type Route } from "../http/route.ts";
import { boundedHandler, COMPRESSIONS } from "./bounded.ts";
import { blameClient, errorInterceptor, httpRequestKey } from "./errors.ts";
import { type ConnectRoutesOptions, REDEEM_PATH } from "./options.ts";
import { registerReflection } from "./reflection.ts";

/**
 * Refuses JSON requests with unknown fields: one could be a restriction, or a
 * condition of an approval (JSON-2).
 */
const STRICT = { jsonOptions: { ignoreUnknownFields: false } };

/**
 * Maximum size in bytes of a request without credentials. It holds a code; a
 * larger limit would let anybody take memory.
 */
const MAX_ANONYMOUS_BYTES = 4096;

/**
 * Creates the request handler for Connect, gRPC and gRPC-Web.
 *
 * The library's own adapter prints an error for each client that drops its
 * connection.
 */
export function createAdapter(options: ConnectRoutesOptions): Route["handle"] {
  const { maxRequestBytes, onError } = options;
  const handlers = new Map(
    createRouter(options).handlers.map((each) => {
      const maxBytes =
        each.requestPath === REDEEM_PATH
          ? MAX_ANONYMOUS_BYTES
          : maxRequestBytes;
      return [each.requestPath, boundedHandler(each, maxBytes)];
    }),
  );
  return (request, response) => {
    const handle = handlers.get(pathOf(request));
    if (!handle) return nothingServed(request, response);
    const values = contextValuesFor(callerOf(request)).set(
      httpRequestKey,
      request,
    );
    const call = universalRequestFromNodeRequest(
      request,
      response,
      undefined,
      values,
    );
    // The library stops reading a request that it refuses. The rest of it is
    // read nevertheless, within the time limit of a request: it would hold up
    // the next request of the connection for ever.
    const [rest, answered]: [Readable, Writable] = [request, response];
    const body = rest.iterator({ destroyOnReturn: false });
    answered.once("finish", () => rest.resume());
    // The library would answer a stream in both directions over HTTP/1.1 with
    // the bare status 505. With this version it does not check, and
    // `refuseHttp1` says what is wrong, in the protocol of the client. Not
    // awaited: with HTTP/1.1, the promise of a response that was written never
    // resolves.
    handle({ ...call, body, httpVersion: "2.0" })
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
export function inProcessTransport(
  options: ConnectRoutesOptions,
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
    (routes) => void registerServices(routes, options),
    { router },
  );
}

/**
 * Refuses calls that stream in both directions and came over HTTP/1.1, and
 * closes their connection.
 */
const refuseHttp1: Interceptor = (next) => async (call) => {
  const request = call.contextValues.get(httpRequestKey);
  if (
    call.method.methodKind !== "bidi_streaming" ||
    request?.httpVersionMajor !== 1
  ) {
    return next(call);
  }
  const problem = `${call.method.name} needs HTTP/2, and this request came over HTTP/1.1`;
  const remedy =
    'use gRPC, or Connect over HTTP/2 (in Node createConnectTransport({ httpVersion: "2" }))';
  throw new DevtoolError(problem, Code.FailedPrecondition, { remedy });
};

/**
 * Refuses requests with values that only binary messages can hold: they would
 * be recorded, and most dialects are JSON.
 */
const refuseValuesWithoutJson: Interceptor = (next) => async (call) => {
  const { input } = call.method;
  if (!call.stream) {
    assertJsonEncodable(input, call.message);
    return next(call);
  }
  const checkEach = async function* <T extends Message>(
    messages: AsyncIterable<T>,
  ): AsyncIterable<T> {
    for await (const message of messages) {
      assertJsonEncodable(input, message);
      yield message;
    }
  };
  return next({ ...call, message: checkEach(call.message) });
};

function createRouter(options: ConnectRoutesOptions): ConnectRouter {
  const { a2a, queue, browsers, maxRequestBytes, onError, shutdown } = options;
  const router = createConnectRouter({
    interceptors: [
      errorInterceptor(onError),
      refuseHttp1,
      refuseValuesWithoutJson,
    ],
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
function registerServices(
  router: ConnectRouter,
  { handler, sessions }: ConnectRoutesOptions,
): DescService[] {
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
