// The names of @devtool/server/testing: internals for tests and benches of this
// repository. Not part of the published package.

export { keyFile } from "../keys/key-file.ts";
export { ROTATION_MS, SigningKeys } from "../keys/signing-keys.ts";
export {
  guardedFetch,
  type OutboundRequest,
} from "../outbound/guarded-fetch.ts";
export { isPublicAddress } from "../outbound/public-address.ts";
export type { Clock } from "../push/clock.ts";
export { createGuardedPoster } from "../push/guarded-poster.ts";
export type {
  Notification,
  Poster,
  PostOutcome,
} from "../push/notification.ts";
export { claimsOf, headersOf } from "../push/post-headers.ts";
export { taskEventEncoding } from "../push/push-format.ts";
export { PushNotifier } from "../push/push-notifier.ts";
export { PushRegistrar } from "../push/push-registrar.ts";
export { GIVE_UP_MS, retryDelayMs } from "../push/retry-schedule.ts";
export { decodeRow, encodeRow } from "../store/event-row.ts";
export { MemoryPushConfigStore } from "../store/memory-push-config-store.ts";
export { MemoryTaskStore } from "../store/memory-task-store.ts";
export type { PushConfigStore } from "../store/push-config-store.ts";
export { TASK_SCHEMA } from "../store/task-schema.ts";
export type { TaskStore } from "../store/task-store.ts";
export { answeredCalls } from "../task/answer.ts";
export { callEntries } from "../task/call-entry.ts";
export { Conversation } from "../task/conversation.ts";
export { EventLog } from "../task/event-log.ts";
export { OpenTask } from "../task/open-task.ts";
export { type CardKey, signCard } from "../transport/a2a-v1/card-signature.ts";
export { created, eventsOf, labeled, text } from "./task-events.ts";
