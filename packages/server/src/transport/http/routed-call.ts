import type { HandlerContext } from "@connectrpc/connect";
import { TaskService } from "@devtool/schema";
import { agentKey } from "../../handler/addressed-agent.ts";
import { contextValuesFor } from "../../handler/caller.ts";
import { callerOf } from "../auth/admitted.ts";
import { ClientGone, isDisconnection } from "./client-gone.ts";
import { sendFailure } from "./failure.ts";
import { RequestContext } from "./request-context.ts";
import { type HttpRequest, type HttpResponse, pathOf } from "./route.ts";

/** A request to a route, with what its answer needs. */
export interface RoutedCall {
  readonly request: HttpRequest;

  readonly response: HttpResponse;

  /** What the groups of the route's pattern match, as the path has it. */
  readonly groups: readonly string[];

  /**
   * The context of all calls of the handler that the request makes: its caller,
   * and a signal that aborts when the client is gone or the server stops.
   */
  readonly context: HandlerContext;
}

/** What the answer to a request needs of the services of a dialect. */
interface CallServices {
  readonly agent: string;
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
  { agent, shutdown, onError }: CallServices,
  pattern: RegExp | undefined,
  answer: (call: RoutedCall) => Promise<void>,
): Promise<void> {
  const gone = new ClientGone(response, shutdown);
  try {
    const context = new RequestContext(request, {
      method: TaskService.method.subscribeTask,
      protocolName: "http",
      signal: gone.signal,
      values: contextValuesFor(callerOf(request)).set(agentKey, agent),
    });
    const [, ...groups] = pattern?.exec(pathOf(request)) ?? [];
    await answer({ request, response, groups, context });
  } catch (reason) {
    if (isDisconnection(request, reason)) return;
    sendFailure(response, reason, onError);
  } finally {
    // Not `using`: as it is compiled, it costs an idle stream 300 bytes.
    gone[Symbol.dispose]();
  }
}
