import { create } from "@bufbuild/protobuf";
import {
  type ToolCall,
  type ToolCallDetail,
  ToolCallDetailSchema,
} from "@devtool/schema";

/**
 * A new version of a tool call, with the details that the RFC's `ToolCall` has
 * no field for.
 */
export interface CallUpdate {
  /** The whole call as it is now; it replaces the version before. */
  readonly call: ToolCall;

  /**
   * The call's stage, digest, policy rule and sandbox. Default: the last
   * recorded detail of the call.
   */
  readonly detail?: ToolCallDetail | undefined;
}

/**
 * Returns a copy of a detail with some fields changed; starts from an empty
 * detail when there is none.
 */
export function changedDetail(
  detail: ToolCallDetail | undefined,
  change: Partial<ToolCallDetail>,
): ToolCallDetail {
  return { ...(detail ?? create(ToolCallDetailSchema)), ...change };
}
