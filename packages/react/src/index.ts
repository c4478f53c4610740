/**
 * The public API of `@devtool/react`, name by name. Adding a name here adds
 * API.
 *
 * Start with `useTask` for one task, and `useSessions` for a list of them.
 * Nothing here renders elements of its own, so all of it works in the DOM, in
 * Ink and in other renderers.
 */
export { MessageList } from "./message-list.ts";
export { describeToolCall } from "./tool-call-display.ts";
export { useAgents } from "./use-agents.ts";
export { useApproval } from "./use-approval.ts";
export { useSessions } from "./use-sessions.ts";
export { type TaskActions, type TaskHandle, useTask } from "./use-task.ts";
