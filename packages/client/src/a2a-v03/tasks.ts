import { Code, ConnectError } from "@connectrpc/connect";
import { encodeMessageSend } from "@devtool/schema/a2a-v03";
import { continuation } from "../a2a/continuation.ts";
import type { ExtensionUse } from "../a2a/headers.ts";
import type { RpcEndpoint } from "../a2a/rpc-endpoint.ts";
import type { TaskCalls } from "../a2a/task-calls.ts";

/** The methods on tasks of A2A 0.3, of an agent with the extension or without it. */
export function taskCallsV03(endpoint: RpcEndpoint, extension: ExtensionUse): TaskCalls {
  return {
    // With the extension a task that has ended goes on with a message to it: so says the RFC (STREAM-5).
    addressed: extension === "active" ? (request) => request : continuation,
    send: (request, signal) => endpoint.call("message/send", encodeMessageSend(request), signal),
    stream: (request, signal) =>
      endpoint.stream({ method: "message/stream", params: encodeMessageSend(request) }, signal),
    get: (id, signal) => endpoint.call("tasks/get", { id }, signal),
    list() {
      throw new ConnectError("A2A 0.3 has no list of tasks: use A2A 1.0, Connect or gRPC", Code.Unimplemented);
    },
    cancel: (id, signal) => endpoint.call("tasks/cancel", { id }, signal),
    withdraw: ({ taskId, messageId }, signal) => endpoint.call("message/withdraw", { taskId, messageId }, signal),
    subscribe: (id, lastEventId, signal) =>
      endpoint.stream({ method: "tasks/resubscribe", params: { id }, lastEventId }, signal),
  };
}
