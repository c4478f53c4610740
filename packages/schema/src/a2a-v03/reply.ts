import type { JsonObject } from "@bufbuild/protobuf";
import { MessageSchema as A2aMessageSchema } from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { DevelopmentToolEvent_DevelopmentToolEventKind as Kind } from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import type { Message } from "../gen/devtool/v1alpha/task_pb.ts";
import { encodeRfcJson } from "../rfc-json.ts";
import { encodeMessage } from "./message.ts";

/**
 * Encodes a reply that is the whole response. It names its conversation but no
 * task, because clients see no task.
 */
export function encodeReply(reply: Message, contextId: string): JsonObject {
  const kind = Kind.DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED;
  return encodeRfcJson(
    A2aMessageSchema,
    encodeMessage(reply, kind, { taskId: "", contextId }),
  );
}
