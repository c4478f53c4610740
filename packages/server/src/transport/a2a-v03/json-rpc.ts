import { toJson } from "@bufbuild/protobuf";
import { JsonRpcCode, JsonRpcErrorSchema } from "@devtool/schema/a2a-v03";
import { writeAnswer } from "../http/answer.ts";
import { assertHasId, errorText, resultText } from "../http/json-rpc.ts";
import type { DialectCall, JsonRpcDialect } from "../http/json-rpc-endpoint.ts";
import { type HttpRequest, type HttpResponse, send, takesStream } from "../http/route.ts";
import { callMethod, type Endpoint } from "./endpoint.ts";
import { challengeOf, reportError, rpcStatusOf } from "./errors.ts";

/** A2A 0.3 over JSON-RPC. It takes every request, and therefore must be the last of the versions. */
export function jsonRpcDialect(endpoint: Endpoint): JsonRpcDialect {
  return {
    takes: () => true,
    answer: (request, response, call) => answerCall(request, response, endpoint, call),
    refuseMediaType: (_request, response, message) => {
      send(response, 415, { body: errorText("null", { code: JsonRpcCode.INVALID_REQUEST, message }) });
      return true;
    },
  };
}

async function answerCall(
  request: HttpRequest,
  response: HttpResponse,
  endpoint: Endpoint,
  call: DialectCall,
): Promise<void> {
  const operation = endpoint.operations.get(call.method);
  const error = (reason: unknown): string =>
    errorText(call.id, toJson(JsonRpcErrorSchema, reportError(reason, endpoint, call.params)));
  try {
    if (operation) assertHasId(call);
    const answered = await callMethod(request, endpoint, call);
    await writeAnswer(response, answered, { endpoint, wrap: (result) => resultText(call.id, result), error });
  } catch (reason) {
    if (response.destroyed || response.headersSent) return;
    const text = error(reason);
    if (operation?.isStreaming && takesStream(request)) {
      // A client that waits for a stream reads the error from its only event.
      const headers = { "content-type": "text/event-stream", "cache-control": "no-cache" };
      return send(response, 200, { body: `data: ${text}\n\n`, ...headers });
    }
    send(response, rpcStatusOf(reason), { body: text, "www-authenticate": challengeOf(reason) });
  }
}
