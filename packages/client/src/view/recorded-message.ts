import type { Message, TaskEvent } from "@devtool/schema";

/**
 * Returns the client's message that an event records.
 */
export function recordedMessage({ payload }: TaskEvent): Message | undefined {
  switch (payload.case) {
    case "message":
      return payload.value;
    case "created":
    case "messageQueued":
      return payload.value.message;
    default:
      return undefined;
  }
}
