import { create } from "@bufbuild/protobuf";
import { NoticeSchema } from "@devtool/schema";
import type { AgentEvent } from "@devtool/server/agent";

/** Creates an event that informs the user about the work itself. */
export function noticeEvent(text: string): AgentEvent {
  return { case: "notice", value: create(NoticeSchema, { text }) };
}
