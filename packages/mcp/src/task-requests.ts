import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { CallHooks } from "./call-events.ts";
import type { McpSupervisor } from "./mcp-supervisor.ts";
import { loadSdk } from "./sdk.ts";
import type { TaskRequests } from "./task-call.ts";

/** The timeout for cancelling a task, in milliseconds. */
const CANCEL_MS = 5000;

/**
 * Returns the requests about the task of a call. Each goes over the connection
 * that there is then: a task outlives its connection.
 */
export async function taskRequests(
  supervisor: McpSupervisor,
  hooks: CallHooks,
): Promise<TaskRequests> {
  const { specTypeSchemas } = await loadSdk();
  const { name: mcpServer } = supervisor.server;
  return {
    record: ({ taskId, expiresAtMs }) =>
      hooks.recordTask({
        mcpServer,
        taskId,
        ...(expiresAtMs !== undefined && {
          expireTime: timestampFromMs(expiresAtMs),
        }),
      }),
    get: (taskId, signal) =>
      supervisor.ask(
        (connection) => connection.askTask("tasks/get", { taskId }, signal),
        signal,
      ),
    update: async (taskId, inputResponses, signal) => {
      const params = { taskId, inputResponses };
      await supervisor.ask(
        (connection) => connection.askTask("tasks/update", params, signal),
        signal,
      );
    },
    cancel: async (taskId) => {
      const signal = AbortSignal.timeout(CANCEL_MS);
      await supervisor
        .ask(
          (connection) =>
            connection.askTask("tasks/cancel", { taskId }, signal),
          signal,
        )
        .catch(() => undefined);
    },
    answer: async (request, signal) => {
      const connection = await supervisor.connection(signal);
      return connection.answerFor(hooks, request, signal);
    },
    readResult: (value) => {
      const read = specTypeSchemas.CallToolResult["~standard"].validate(value);
      return read instanceof Promise || read.issues ? undefined : read.value;
    },
  };
}
