import {
  isTerminal,
  type ListTasksRequest,
  type ListTasksResponse,
  type SendMessageRequest,
  type WithdrawMessageRequest,
} from "@devtool/schema";
import type { KnownTask } from "./known-tasks.ts";
import type { Answer, Frame } from "./rpc-endpoint.ts";

/**
 * The task methods of one version of A2A. Tasks, messages and frames are
 * returned in the JSON of 0.3, so one reader serves both versions. Every method
 * throws `ConnectError`s.
 */
export interface TaskCalls {
  /**
   * Returns the request to send instead, given the state of its task: see
   * `continueInNewTask`.
   */
  redirect(
    request: SendMessageRequest,
    task: KnownTask | undefined,
  ): SendMessageRequest;
  /**
   * Sends a message and returns the task, or the agent's message if it answers
   * with one alone.
   */
  send(request: SendMessageRequest, signal: AbortSignal): Promise<Answer>;
  /**
   * Sends a message and streams what follows.
   */
  stream(
    request: SendMessageRequest,
    signal: AbortSignal,
  ): AsyncIterable<Frame>;
  get(taskId: string, signal: AbortSignal): Promise<Answer>;
  list(
    request: ListTasksRequest,
    signal: AbortSignal,
  ): Promise<ListTasksResponse>;
  /**
   * Cancels a task and returns it.
   */
  cancel(taskId: string, signal: AbortSignal): Promise<Answer>;
  /**
   * Removes a queued message and returns its task. Only agents with the
   * extension have this method.
   */
  withdraw(
    request: WithdrawMessageRequest,
    signal: AbortSignal,
  ): Promise<Answer>;
  /**
   * Streams what follows after the frame with an id if the agent numbers its
   * frames, otherwise the task as it is and what follows.
   */
  subscribe(
    taskId: string,
    lastEventId: string | undefined,
    signal: AbortSignal,
  ): AsyncIterable<Frame>;
}

/**
 * Redirects a message for an ended task to a new task of the same conversation,
 * which refers to the old one (STREAM-5).
 *
 * In A2A an ended task takes no messages (1.0, section 3.4); only the RFC lets
 * it continue. Other agents would refuse the message, and devtool's server
 * treats the new task as a continuation.
 */
export function continueInNewTask(
  request: SendMessageRequest,
  task: KnownTask | undefined,
): SendMessageRequest {
  const { message } = request;
  if (!message || !task || !isTerminal(task.state)) return request;
  const referenceTaskIds = [...new Set([...message.referenceTaskIds, task.id])];
  return {
    ...request,
    taskId: "",
    contextId: task.contextId,
    message: { ...message, referenceTaskIds },
  };
}
