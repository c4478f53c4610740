import type { JsonValue } from "@bufbuild/protobuf";
import type { ListTasksRequest, ListTasksResponse, SendMessageRequest, WithdrawMessageRequest } from "@devtool/schema";
import type { KnownTask } from "./known-tasks.ts";
import type { Frame } from "./rpc-endpoint.ts";

/**
 * How the methods on tasks are called in one version of A2A. Tasks, messages and frames come back as 0.3 writes them,
 * so that one reader does for both. Each throws a `ConnectError`.
 */
export interface TaskCalls {
  /** Says how a message is sent to its task, when it is known where that stands. */
  addressed(request: SendMessageRequest, task: KnownTask | undefined): SendMessageRequest;
  /** Gives the task, or a message alone. */
  send(request: SendMessageRequest, signal: AbortSignal): Promise<JsonValue>;
  stream(request: SendMessageRequest, signal: AbortSignal): AsyncIterable<Frame>;
  get(taskId: string, signal: AbortSignal): Promise<JsonValue>;
  list(request: ListTasksRequest, signal: AbortSignal): Promise<ListTasksResponse>;
  cancel(taskId: string, signal: AbortSignal): Promise<JsonValue>;
  /** Removes a message that waits, and gives the task; agents without our extension have no such method. */
  withdraw(request: WithdrawMessageRequest, signal: AbortSignal): Promise<JsonValue>;
  /** Gives what came after an event, where the agent numbers its events; otherwise the task as it is, and what follows. */
  subscribe(taskId: string, after: bigint, signal: AbortSignal): AsyncIterable<Frame>;
}
