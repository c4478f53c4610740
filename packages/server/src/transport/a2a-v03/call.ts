import type { JsonValue } from "@bufbuild/protobuf";
import { EXTENSION_URI } from "@devtool/schema";
import { JsonRpcCode, type StreamView, showsExtension, signsIn } from "@devtool/schema/a2a-v03";
import { objectOrEmpty, stringOrEmpty } from "@devtool/schema/json";
import { agentKey } from "../../handler/addressed-agent.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { type Active, activationOf, viewOf } from "../a2a/activation.ts";
import { readLastEventId } from "../a2a/last-event-id.ts";
import type { MethodCall } from "../a2a/method.ts";
import { type CallPlace, extensionNeeded, meetsRequirement } from "../a2a/required-extension.ts";
import { contextValuesOf } from "../auth/admitted.ts";
import { JsonRpcFailure } from "../http/json-rpc.ts";
import { RequestContext } from "../http/request-context.ts";
import { type HttpRequest, headerOf, takesStream } from "../http/route.ts";
import type { Operation } from "./operation.ts";

/** A call of an operation, as a binding read it. */
export interface RequestedOperation {
  readonly operation: Operation;
  readonly params: JsonValue | undefined;
  /** The agent that the call is addressed to; empty where it is addressed to none of several. */
  readonly agent: string;
  readonly textOf: MethodCall["textOf"];
  /** Aborts when the client is gone or the server stops. */
  readonly signal: AbortSignal;
}

/** A call that was opened, and may set headers of its response. */
export interface OpenedCall extends MethodCall {
  readonly context: RequestContext;
}

/** Opens a call in the view that the request asks for (CARD-3). */
export function openCall(
  request: HttpRequest,
  { operation, params, agent, textOf, signal }: RequestedOperation,
): OpenedCall {
  const { method, name } = operation;
  const values = contextValuesOf(request).set(agentKey, agent);
  const context = new RequestContext(request, { method, protocolName: "a2a-v0.3", signal, values });
  const { view, activates, header } = activationOf({
    headerOf: (header) => request.headers[header]?.toString(),
    shows: EXTENSION_METHODS.has(name) || showsExtension(signsIn(params)),
    speaks: MESSAGE_METHODS.has(name) || name === "command/execute",
    ownHeader: "x-a2a-extensions",
  });
  let isNamed = false;
  const nameExtension = (): void => {
    // It is called for each event.
    if (!isNamed) context.responseHeader.set(header, EXTENSION_URI);
    isNamed = true;
  };
  const lastEventId = readLastEventId(headerOf(request, "last-event-id"));
  return { context, params, view, activates, nameExtension, textOf, lastEventId, takesStream: takesStream(request) };
}

const EXTENSION_METHODS: ReadonlySet<string> = new Set(["commands/get", "command/execute"]);
const MESSAGE_METHODS: ReadonlySet<string> = new Set(["message/send", "message/stream"]);

/** Refuses a call that does not use the extension where the card says that it must (CARD-1). */
export async function assertExtension(handler: RequestHandler, name: string, call: MethodCall): Promise<void> {
  const place = placeOf(name, call.params);
  const { view, context } = call;
  if (!place || (await meetsRequirement(handler, { view, place, context }))) return;
  throw new JsonRpcFailure(extensionNeeded("X-A2A-Extensions"), JsonRpcCode.INVALID_REQUEST);
}

/** The conversation that a call belongs to; undefined for methods that everybody may call, also where the extension is required. */
function placeOf(name: string, params: JsonValue | undefined): CallPlace | undefined {
  if (EXTENSION_METHODS.has(name) || name === "agent/getAuthenticatedExtendedCard") return undefined;
  const { message, id, taskId = id } = objectOrEmpty(params);
  const isMessage = MESSAGE_METHODS.has(name);
  if (!isMessage) return { taskId: stringOrEmpty(taskId), contextId: "", isMessage };
  const said = objectOrEmpty(message);
  return { taskId: stringOrEmpty(said.taskId), contextId: stringOrEmpty(said.contextId), isMessage };
}

/** The view in which a call shows a task or an event. Where that is the extension's, the response names it. */
export function shownView(
  { view, nameExtension }: Pick<MethodCall, "view" | "nameExtension">,
  shown: Active,
): StreamView {
  const found = viewOf(view, shown);
  if (found === "extension") nameExtension();
  return found;
}

/** The call with the view of its task's conversation, where the extension is active in it: also for events from before that. */
export function settledCall(call: MethodCall, { extensionActive }: Active): MethodCall {
  return call.view === "inherited" && extensionActive ? { ...call, view: "extension" } : call;
}
