import type { JsonValue } from "@bufbuild/protobuf";
import { objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import { EXTENSION_URI } from "@devtool/schema";
import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { activationOf } from "../a2a/activation.ts";
import { extensionSignsV03, showsExtension } from "../a2a/extension-signs.ts";
import { JsonRpcFailure } from "../a2a/json-rpc.ts";
import { parseLastEventId } from "../a2a/last-event-id.ts";
import type { MethodCall } from "../a2a/method.ts";
import {
  extensionNeeded,
  meetsRequirement,
} from "../a2a/required-extension.ts";
import type { RoutedCall } from "../http/routed-call.ts";

/** The method that a request calls, as its binding has read it. */
export interface RequestedMethod {
  /** The name of the method in JSON-RPC. */
  readonly name: string;

  readonly params: JsonValue | undefined;

  readonly encodeEvent: MethodCall["encodeEvent"];
}

const EXTENSION_METHODS: ReadonlySet<string> = new Set([
  "commands/get",
  "command/execute",
]);
/** The methods that send a message. */
export const MESSAGE_METHODS: ReadonlySet<string> = new Set([
  "message/send",
  "message/stream",
]);

/** Opens a call: decides on its use of the extension (CARD-3). */
export function openCall(
  { request, response, context, takesStream }: RoutedCall,
  { name, params, encodeEvent }: RequestedMethod,
): MethodCall {
  const { headers } = request;
  const { view, activates, header } = activationOf({
    headerOf: (header) => headers[header]?.toString(),
    knowsExtension:
      EXTENSION_METHODS.has(name) || showsExtension(extensionSignsV03(params)),
    startsTurn: MESSAGE_METHODS.has(name) || name === "command/execute",
    ownHeader: "x-a2a-extensions",
  });
  return {
    context,
    params,
    view,
    activates,
    nameExtension: () => {
      // Not in the context: Node loads its HTTP client for the first `Headers`.
      if (!response.headersSent) response.setHeader(header, EXTENSION_URI);
    },
    encodeEvent,
    lastEventId: parseLastEventId(String(headers["last-event-id"] ?? "")),
    takesStream,
  };
}

/**
 * Throws for a call that does not use the extension, to an agent whose card
 * requires it (CARD-1).
 *
 * The methods of the extension show by themselves that their client knows it.
 * The extended card is for clients that do not yet.
 */
export async function assertExtension(
  handler: RequestHandler,
  name: string,
  call: MethodCall,
): Promise<void> {
  if (
    EXTENSION_METHODS.has(name) ||
    name === "agent/getAuthenticatedExtendedCard"
  ) {
    return;
  }
  const { view, context } = call;
  const params = objectOrEmpty(call.params);
  const isMessage = MESSAGE_METHODS.has(name);
  const named = isMessage
    ? objectOrEmpty(params.message)
    : { taskId: params.taskId ?? params.id, contextId: "" };
  const place = {
    taskId: stringOrEmpty(named.taskId),
    contextId: stringOrEmpty(named.contextId),
    isMessage,
  };
  if (await meetsRequirement(handler, { view, place, context })) return;
  throw new JsonRpcFailure(
    extensionNeeded("X-A2A-Extensions"),
    JsonRpcCode.INVALID_REQUEST,
  );
}
