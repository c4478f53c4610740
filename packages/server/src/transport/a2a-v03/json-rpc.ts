import { toJson } from "@bufbuild/protobuf";
import { JsonRpcCode, JsonRpcErrorSchema } from "@devtool/schema/a2a-v03";
import type { Answered } from "../http/answer.ts";
import { assertHasId, errorText, resultText } from "../http/json-rpc.ts";
import type { DialectCall, JsonRpcDialect } from "../http/json-rpc-dialect.ts";
import { type HttpRequest, type HttpResponse, send, takesStream } from "../http/route.ts";
import { streamFrames } from "../http/stream-frames.ts";
import { callMethod, type Endpoint } from "./endpoint.ts";
import { challengeOf, reported, rpcStatusOf } from "./errors.ts";

/** A2A 0.3 over JSON-RPC. It answers what no other version takes. */
export function jsonRpcDialect(endpoint: Endpoint): JsonRpcDialect {
  return {
    takes: () => true,
    answer: (request, response, call) => answer(request, response, { endpoint, call }),
    refuseMediaType: (_request, response, message) => {
      send(response, 415, { body: errorText("null", { code: JsonRpcCode.INVALID_REQUEST, message }) });
      return true;
    },
  };
}

interface Answering {
  readonly endpoint: Endpoint;
  readonly call: DialectCall;
}

async function answer(request: HttpRequest, response: HttpResponse, answering: Answering): Promise<void> {
  const { endpoint, call } = answering;
  const operation = endpoint.operations.get(call.method);
  try {
    if (operation) assertHasId(call);
    await respond(response, await callMethod(request, endpoint, call), answering);
  } catch (reason) {
    if (response.destroyed || response.headersSent) return;
    const body = failureText(call.id, reason, answering);
    if (operation?.isStreaming && takesStream(request)) return sendEvent(response, body);
    send(response, rpcStatusOf(reason), { body, ...challengeOf(reason) });
  }
}

/** Answers a method that streams, for a client that takes a stream: what is wrong is told in its only event. */
function sendEvent(response: HttpResponse, data: string): void {
  send(response, 200, { body: `data: ${data}\n\n`, "content-type": "text/event-stream", "cache-control": "no-cache" });
}

/** Writes an answer; resolves when all of it is written. */
function respond(
  response: HttpResponse,
  { answer, headers }: Answered,
  { endpoint, call }: Answering,
): Promise<void> | undefined {
  const { id } = call;
  if (answer.case === "result") {
    return void send(response, 200, { body: resultText(id, JSON.stringify(answer.value)), ...headers() });
  }
  return streamFrames(response, answer.value, {
    endpoint,
    headers,
    data: (result) => resultText(id, result),
    error: (reason) => failureText(id, reason, { endpoint, call }),
  });
}

function failureText(id: string, reason: unknown, { endpoint, call }: Answering): string {
  return errorText(id, toJson(JsonRpcErrorSchema, reported(reason, endpoint, call.params)));
}
