/**
 * The public API of `@devtool/client`, name by name. Adding a name here adds
 * API.
 *
 * Start with `createDevtoolClient` for a client, `streamMessage` to send a
 * message and read what the agent does, and `pendingToolCalls` with
 * `confirmationPart` to approve tool calls.
 */
export { bearerInterceptor } from "./bearer-interceptor.ts";
export {
  type AskedToolCall,
  confirmationPart,
  modifiedArgumentsPart,
  pendingToolCalls,
  textMessage,
} from "./confirmation.ts";
export { createDevtoolClient, type DevtoolClient } from "./devtool-client.ts";
export { observeTask, streamMessage, subscribeTask } from "./follow.ts";
export { callWithRetry, type ResumeOptions } from "./resume.ts";
export type { PlanStep } from "./view/plan.ts";
export type { MessageContent } from "./view/send-request.ts";
export {
  createSessionList,
  type SessionList,
  type SessionListOptions,
  type SessionListSnapshot,
} from "./view/session-list.ts";
export type { TaskItem } from "./view/task-items.ts";
export type { TaskSnapshot } from "./view/task-snapshot.ts";
export {
  type AnswerChanges,
  createTaskView,
  type TaskView,
} from "./view/task-view.ts";
