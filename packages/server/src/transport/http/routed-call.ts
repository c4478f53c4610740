import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import { agentKey } from "../../handler/addressed-agent.ts";
import { contextValuesFor } from "../../handler/caller.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { admittedCaller } from "../auth/admitted.ts";
import { ClientGone, isDisconnection } from "./client-gone.ts";
import { sendFailure } from "./failure.ts";
import { noteRefusal, observeUnreached } from "./observed-request.ts";
import { RequestContext } from "./request-context.ts";
import {
  type FailureForm,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  pathOf,
  type ResponseHeaders,
} from "./route.ts";

/** A request to a route, with what its answer needs. */
export interface RoutedCall {
  readonly request: HttpRequest;

  readonly response: HttpResponse;

  /** The path without its query, and below that of one of several agents. */
  readonly path: string;

  /** What the groups of the route's pattern match, as the path has it. */
  readonly groups: readonly string[];

  /** Whether the client accepts server-sent events as the answer. */
  readonly takesStream: boolean;

  /**
   * The context of all calls of the handler that the request makes: its caller,
   * its headers, and a signal that aborts when the client is gone or the server
   * stops. The name of its protocol is `http`.
   */
  readonly context: HandlerContext;

  /**
   * Returns the response headers that calls have set in the context so far, and
   * releases all headers in it.
   */
  readonly takeHeaders: () => ResponseHeaders;

  /**
   * Reports an error that is not the client's fault, unless it is that the
   * client has closed the connection.
   */
  readonly report: (reason: unknown) => void;

  /**
   * Notes for the operator why the request is refused that has reached no
   * method. Default: its status says why.
   */
  readonly noteRefusal: (reason: unknown) => void;
}

/** What the answer to a request needs of the services of a dialect. */
interface CallServices {
  readonly agent: string;
  readonly handler: Pick<RequestHandler, "observe">;
  readonly shutdown: AbortSignal;
  readonly onError: (reason: unknown) => void;
}

/**
 * Answers a request to a route. Never rejects: an error is sent to the client.
 *
 * @param pattern what the path has matched. Default: a path without groups.
 */
export async function answerCall(
  { request, response }: Pick<RoutedCall, "request" | "response">,
  { agent, handler, shutdown, onError }: CallServices,
  pattern: RegExp | undefined,
  answer: (call: RoutedCall) => Promise<void>,
  failureForm: FailureForm | undefined,
): Promise<void> {
  const gone = new ClientGone(response, shutdown);
  const caller = admittedCaller(request);
  const values = caller ? contextValuesFor(caller) : createContextValues();
  values.set(agentKey, agent);
  const context = new RequestContext(request, gone.signal, values);
  // The observer hears of each request to a public route (`observePublic`).
  const observe = (): void => {
    if (caller) observeUnreached(handler, { request, response }, values);
  };
  try {
    const path = pathOf(request);
    const [, ...groups] = pattern?.exec(path) ?? [];
    await answer({
      ...{ request, response, path, groups, context },
      takesStream: /text\/event-stream/i.test(headerOf(request, "accept")),
      takeHeaders: () => context.takeHeaders(),
      report: (reason) => {
        const isGone = gone.signal.aborted && reason === gone.signal.reason;
        if (!isGone && !isDisconnection(request, reason)) onError(reason);
      },
      noteRefusal: (reason) => noteRefusal(values, reason),
    });
  } catch (reason) {
    if (isDisconnection(request, reason)) return;
    noteRefusal(values, reason);
    await sendFailure({ request, response }, reason, onError, failureForm);
  } finally {
    // Not `using`: as it is compiled, it costs an idle stream 300 bytes.
    gone[Symbol.dispose]();
    if (response.headersSent) {
      observe();
    } else {
      // Connect answers later.
      response.once("finish", observe);
    }
  }
}
