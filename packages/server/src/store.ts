// The public names of @devtool/server/store: the seam between a server and its
// store, and what stores share.

export { Code, DevtoolError, quoted } from "./errors.ts";
export type {
  AgentSessionKey,
  AgentSessions,
  SessionTurn,
} from "./store/agent-sessions.ts";
export type {
  ApprovalStorage,
  StoredApprovals,
} from "./store/approval-storage.ts";
export { assertFollows } from "./store/assert-follows.ts";
export {
  chainRecord,
  decodeAuditRow,
  detachShown,
} from "./store/audit-chain.ts";
export {
  decodeRow,
  type EventRow,
  encodeRows,
  lastEventOf,
} from "./store/event-row.ts";
export type { KeyStorage, StoredKeys } from "./store/key-storage.ts";
export { labelInRow } from "./store/layout.ts";
export {
  decodeCursor,
  encodeCursor,
  positionOf,
} from "./store/list-position.ts";
export { MemoryTaskStore } from "./store/memory-task-store.ts";
export { messageIdOf } from "./store/message-id.ts";
export {
  assertRoomForConfig,
  type PushConfigKey,
  type PushConfigStore,
  pushConfigKey,
} from "./store/push-config-store.ts";
export { SqliteTaskStore } from "./store/sqlite-task-store.ts";
export type { TaskChanges } from "./store/task-changes.ts";
export type {
  InboxAnswer,
  InboxEntry,
  InboxReply,
  TaskInbox,
} from "./store/task-inbox.ts";
export { labelOfEvents } from "./store/task-label.ts";
export type { TaskLease, TaskLeases } from "./store/task-lease.ts";
export type {
  ListedTask,
  ServerStore,
  TaskAppend,
  TaskLabel,
  TaskPage,
  TaskQuery,
  TaskStore,
} from "./store/task-store.ts";
