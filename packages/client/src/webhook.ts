/**
 * The public API of `@devtool/client/webhook`: verifying and reading push
 * notifications.
 */
export { notificationEvent } from "./webhook/notification-event.ts";
export { SeenEvents } from "./webhook/seen-events.ts";
export {
  type Notification,
  NotificationError,
  type NotificationKeys,
  type NotificationRequest,
  notificationKeys,
  type VerifyOptions,
  verifyNotification,
} from "./webhook/verify-notification.ts";
