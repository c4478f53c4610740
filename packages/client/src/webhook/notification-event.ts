import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type TaskEvent, TaskEventSchema } from "@devtool/schema";
import { decodeA2aJson, frameFromA2a, StreamResponseSchema } from "@devtool/schema/a2a-v1";
import { decodeStreamFrame } from "@devtool/schema/a2a-v03";
import { type Notification, NotificationError } from "./verify-notification.ts";

/**
 * Reads the event of a notification: a TaskEvent as it is, a frame of A2A 0.3, or an element of a stream of A2A 1.0.
 * Undefined for another format. Throws a `NotificationError` for a body that is broken, which a server would not have signed.
 */
export function notificationEvent({ body, sequence }: Pick<Notification, "body" | "sequence">): TaskEvent | undefined {
  try {
    const json: JsonValue = JSON.parse(body);
    if (typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
    if (typeof json.kind === "string") return decodeStreamFrame(json, sequence);
    if ("task" in json || "statusUpdate" in json) {
      return decodeStreamFrame(frameFromA2a(decodeA2aJson(StreamResponseSchema, json).payload), sequence);
    }
    return "sequence" in json ? fromJson(TaskEventSchema, json, { ignoreUnknownFields: true }) : undefined;
  } catch (reason) {
    throw new NotificationError("the body is no event", { cause: reason });
  }
}
