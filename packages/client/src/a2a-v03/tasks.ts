import type { JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { encodeMessageSend } from "@devtool/schema/a2a-v03";
import type { ExtensionUse } from "../a2a/endpoint.ts";
import type { Answer, RpcEndpoint } from "../a2a/rpc-endpoint.ts";
import { continueInNewTask, type TaskCalls } from "../a2a/task-calls.ts";

/**
 * The task methods of A2A 0.3.
 *
 * An agent with the extension lets an ended task continue, as the RFC says
 * (STREAM-5). Without it, a message to an ended task starts a new one.
 */
export function taskCallsV03(
  endpoint: RpcEndpoint,
  extension: ExtensionUse,
): TaskCalls {
  return {
    redirect: extension === "active" ? (request) => request : continueInNewTask,
    send: (request, signal) =>
      answerOf(
        endpoint.call("message/send", encodeMessageSend(request), signal),
      ),
    stream: (request, signal) =>
      endpoint.stream(
        { method: "message/stream", params: encodeMessageSend(request) },
        signal,
      ),
    get: (id, signal) => answerOf(endpoint.call("tasks/get", { id }, signal)),
    list() {
      throw new ConnectError(
        "A2A 0.3 has no list of tasks: use A2A 1.0, Connect or gRPC",
        Code.Unimplemented,
      );
    },
    cancel: (id, signal) =>
      answerOf(endpoint.call("tasks/cancel", { id }, signal)),
    withdraw: ({ taskId, messageId }, signal) =>
      answerOf(
        endpoint.call("message/withdraw", { taskId, messageId }, signal),
      ),
    subscribe: (id, lastEventId, signal) =>
      endpoint.stream(
        { method: "tasks/resubscribe", params: { id }, lastEventId },
        signal,
      ),
  };
}

async function answerOf(called: Promise<JsonValue>): Promise<Answer> {
  return { result: await called };
}
