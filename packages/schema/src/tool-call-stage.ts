import {
  type ToolCall,
  ToolCallStatus,
} from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import { ToolCallStage } from "./gen/devtool/v1alpha/task_pb.ts";
import { isAwaitingApproval } from "./tool-call.ts";

/**
 * Returns the stage of a call, derived from the RFC's fields. A PENDING call
 * without a confirmation request is SCHEDULED, because the RFC cannot express
 * VALIDATING. UNSPECIFIED for a status that is not known.
 */
export function stageOf(call: ToolCall): ToolCallStage {
  if (isAwaitingApproval(call)) return ToolCallStage.AWAITING_APPROVAL;
  return STAGE_OF_STATUS[call.status] ?? ToolCallStage.UNSPECIFIED;
}

const STAGE_OF_STATUS: Readonly<
  Partial<Record<ToolCallStatus, ToolCallStage>>
> = {
  [ToolCallStatus.PENDING]: ToolCallStage.SCHEDULED,
  [ToolCallStatus.EXECUTING]: ToolCallStage.EXECUTING,
  [ToolCallStatus.SUCCEEDED]: ToolCallStage.SUCCEEDED,
  [ToolCallStatus.FAILED]: ToolCallStage.FAILED,
  [ToolCallStatus.CANCELLED]: ToolCallStage.CANCELLED,
};

/**
 * Returns whether a call may move from one stage to another.
 *
 * A new call starts at UNSPECIFIED. A move to the same stage is an update: of a
 * call that is still validated, of a question, or of the progress of a running
 * call. A call that has ended does not move.
 */
export function isStageMove(from: ToolCallStage, to: ToolCallStage): boolean {
  return NEXT_STAGES[from].includes(to);
}

const {
  VALIDATING,
  AWAITING_APPROVAL,
  SCHEDULED,
  EXECUTING,
  SUCCEEDED,
  FAILED,
  CANCELLED,
} = ToolCallStage;

const NEXT_STAGES: Readonly<Record<ToolCallStage, readonly ToolCallStage[]>> = {
  [ToolCallStage.UNSPECIFIED]: [VALIDATING, AWAITING_APPROVAL, SCHEDULED],
  [VALIDATING]: [VALIDATING, AWAITING_APPROVAL, SCHEDULED, FAILED, CANCELLED],
  [AWAITING_APPROVAL]: [
    AWAITING_APPROVAL,
    VALIDATING,
    SCHEDULED,
    FAILED,
    CANCELLED,
  ],
  [SCHEDULED]: [EXECUTING, FAILED, CANCELLED],
  [EXECUTING]: [EXECUTING, SUCCEEDED, FAILED, CANCELLED],
  [SUCCEEDED]: [],
  [FAILED]: [],
  [CANCELLED]: [],
};
