import { create } from "@bufbuild/protobuf";
import { type ToolCall, type ToolCallDetail, ToolCallDetailSchema } from "@devtool/schema";

/** A tool call in its new form, with what the scheduler says of it. */
export interface CallUpdate {
  readonly call: ToolCall;
  /** What is known beyond the RFC; what was said last still holds when left out. */
  readonly detail?: ToolCallDetail;
}

/** The detail with some of it changed; an empty one when there was none. */
export function changedDetail(detail: ToolCallDetail | undefined, change: Partial<ToolCallDetail>): ToolCallDetail {
  return { ...(detail ?? create(ToolCallDetailSchema)), ...change };
}
