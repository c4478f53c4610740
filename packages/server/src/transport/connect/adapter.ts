import type { Readable, Writable } from "node:stream";
import type { Message } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createConnectRouter,
  type Interceptor,
} from "@connectrpc/connect";
import {
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { shorten } from "@devtool/internal/cut-text";
import { assertJsonEncodable, BrowserAccessService } from "@devtool/schema";
import { DevtoolError } from "../../errors.ts";
import { HttpFailure } from "../http/failure.ts";
import type { RoutedCall } from "../http/routed-call.ts";
import { boundedHandler, COMPRESSIONS } from "./bounded.ts";
import { blameClient, errorInterceptor, routedCallKey } from "./errors.ts";
import { type ConnectOptions, REDEEM_PATH } from "./options.ts";
import { registerServices, STRICT } from "./services.ts";

/**
 * Maximum size in bytes of a request without credentials. It holds a code; a
 * larger limit would let anybody take memory.
 */
const MAX_ANONYMOUS_BYTES = 4096;

/** Registers services beside our own. */
type RegisterMore = (router: ConnectRouter) => void;

/**
 * Creates the request handler of our own services for Connect, gRPC and
 * gRPC-Web.
 *
 * The library's own adapter prints an error for each client that drops its
 * connection.
 *
 * @param registerMore - Default: there are no other services.
 */
export function createAdapter(
  options: ConnectOptions,
  registerMore?: RegisterMore,
): (call: RoutedCall) => void {
  const { maxRequestBytes } = options;
  const handlers = new Map(
    createRouter(options, registerMore).handlers.map((each) => {
      const maxBytes =
        each.requestPath === REDEEM_PATH
          ? MAX_ANONYMOUS_BYTES
          : maxRequestBytes;
      return [each.requestPath, boundedHandler(each, maxBytes)];
    }),
  );
  return (call) => {
    const { request, response, path, context } = call;
    const handle = handlers.get(path);
    if (!handle) {
      const problem = `nothing is served at ${request.method} ${shorten(path)}`;
      throw new HttpFailure(problem, 404);
    }
    const asked = universalRequestFromNodeRequest(
      request,
      response,
      undefined,
      context.values.set(routedCallKey, call),
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
    handle({ ...asked, body, httpVersion: "2.0" })
      .then((answer) => universalResponseToNodeResponse(answer, response))
      .catch((reason: unknown) => {
        const isEnded = ConnectError.from(reason).code === Code.Aborted;
        if (!isEnded) call.report(reason);
      });
  };
}

/**
 * Refuses calls that stream in both directions and came over HTTP/1.1, and
 * closes their connection.
 */
const refuseHttp1: Interceptor = (next) => async (call) => {
  const routed = call.contextValues.get(routedCallKey);
  if (
    call.method.methodKind !== "bidi_streaming" ||
    routed?.request.httpVersionMajor !== 1
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

function createRouter(
  options: ConnectOptions,
  registerMore?: RegisterMore,
): ConnectRouter {
  const { handler, browsers, maxRequestBytes, onError, shutdown } = options;
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
  registerServices(router, handler);
  if (browsers) router.service(BrowserAccessService, browsers, STRICT);
  registerMore?.(router);
  return router;
}
