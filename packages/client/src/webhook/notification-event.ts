import { fromJson } from "@bufbuild/protobuf";
import { quoteInexactNumbers } from "@devtool/internal/exact-json";
import { objectOrEmpty } from "@devtool/internal/json";
import { type TaskEvent, TaskEventSchema } from "@devtool/schema";
import {
  decodeA2aJson,
  frameFromA2a,
  StreamResponseSchema,
} from "@devtool/schema/a2a-v1";
import { decodeStreamFrame } from "@devtool/schema/a2a-v03";
import { type Notification, NotificationError } from "./verify-notification.ts";

/**
 * Reads the event of a verified notification, whichever format the push config
 * asked for: a `TaskEvent`, a frame of A2A 0.3, or a stream element of A2A 1.0.
 * Returns undefined for any other format.
 *
 * ```ts
 * const notification = await verifyNotification({ headers, body }, options);
 * const event = notificationEvent(notification);
 * if (event && isTerminal(event.state)) console.log(`task ${event.taskId} has ended`);
 * ```
 *
 * Throws a `NotificationError` if the body is invalid. A server that signs its
 * notifications does not send such a body.
 */
export function notificationEvent({
  body,
  sequence,
}: Pick<Notification, "body" | "sequence">): TaskEvent | undefined {
  try {
    const json = objectOrEmpty(JSON.parse(quoteInexactNumbers(body)));
    if (typeof json.kind === "string") return decodeStreamFrame(json, sequence);
    if ("task" in json || "statusUpdate" in json) {
      return decodeStreamFrame(
        frameFromA2a(decodeA2aJson(StreamResponseSchema, json).payload),
        sequence,
      );
    }
    return "sequence" in json
      ? fromJson(TaskEventSchema, json, { ignoreUnknownFields: true })
      : undefined;
  } catch (reason) {
    throw new NotificationError("the body is not a valid event", {
      cause: reason,
    });
  }
}
