import { toJson } from "@bufbuild/protobuf";
import {
  decodeMessageSend,
  JsonRpcCode,
  JsonRpcErrorSchema,
} from "@devtool/schema/a2a-v03";
import { callKeys } from "../../handler/caller.ts";
import { writeAnswer } from "../a2a/answer.ts";
import { assertHasId, errorText, resultText } from "../a2a/json-rpc.ts";
import type { JsonRpcVersion } from "../a2a/json-rpc-endpoint.ts";
import { send } from "../http/route.ts";
import { MESSAGE_METHODS } from "./call.ts";
import { type A2aV03Endpoint, callMethod } from "./endpoint.ts";
import { httpStatusOf, reportError } from "./errors.ts";

/** A2A 0.3 over JSON-RPC. */
export function jsonRpcVersion(endpoint: A2aV03Endpoint): JsonRpcVersion {
  return {
    takes: () => true,
    async answer(call, rpc) {
      const { response, context } = call;
      const { id, params } = rpc;
      context.values.set(callKeys.binding, "a2a-0.3/jsonrpc");
      const operation = endpoint.operations.get(rpc.method);
      const error = (reason: unknown): string =>
        errorText(
          id,
          toJson(JsonRpcErrorSchema, reportError(reason, endpoint, params)),
        );
      try {
        // Without an operation, `callMethod` throws the error for an unknown
        // method.
        if (operation && !rpc.hasId) {
          // A message that is not valid is the more helpful error.
          if (MESSAGE_METHODS.has(rpc.method)) decodeMessageSend(params);
          assertHasId(rpc);
        }
        await writeAnswer(call, await callMethod(call, endpoint, rpc), {
          endpoint,
          wrap: (result) => resultText(id, result),
          error,
        });
      } catch (reason) {
        if (response.destroyed || response.headersSent) return;
        call.noteRefusal(reason);
        const text = error(reason);
        if (operation?.isStreaming && call.takesStream) {
          // A client that waits for a stream reads the error from its only
          // event.
          const headers = {
            "content-type": "text/event-stream",
            "cache-control": "no-cache",
          };
          return send(response, 200, { body: `data: ${text}\n\n`, ...headers });
        }
        // JSON-RPC sends its errors with status 200.
        const status = httpStatusOf(reason) ?? 200;
        send(response, status, {
          body: text,
          "www-authenticate": status === 401 ? "Bearer" : undefined,
        });
      }
    },
    refuseMediaType: ({ response }, message) => {
      send(response, 415, {
        body: errorText("null", { code: JsonRpcCode.INVALID_REQUEST, message }),
      });
      return true;
    },
  };
}
