import type { TaskEvent } from "@devtool/schema";

/**
 * Returns the id of the client's message that an event records. Undefined when
 * it records none.
 */
export function messageIdOf({ payload }: TaskEvent): string | undefined {
  if (payload.case === "message") return payload.value.messageId;
  if (payload.case === "messageQueued") return payload.value.message?.messageId;
  return payload.case === "created"
    ? payload.value.message?.messageId
    : undefined;
}
