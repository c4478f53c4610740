import { create } from "@bufbuild/protobuf";
import { NoticeSchema } from "@devtool/schema";
import type { AgentEvent } from "@devtool/server/agent";

/** Says something about the work itself, for a person. */
export function noticeOf(text: string): AgentEvent {
  return { case: "notice", value: create(NoticeSchema, { text }) };
}
