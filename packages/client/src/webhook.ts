/**
 * The public API of `@devtool/client/webhook`: verifying and reading push
 * notifications.
 */
export { notificationEvent } from "./webhook/notification-event.ts";
export { SeenEvents } from "./webhook/seen-events.ts";
export {
  NotificationError,
  notificationKeys,
  verifyNotification,
} from "./webhook/verify-notification.ts";
