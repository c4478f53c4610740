// The public names of @devtool/client/webhook, one by one. Adding a name is adding API.

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
