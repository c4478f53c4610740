import { type ToolCall, ToolCallStatus } from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import { type ToolCallDetail, ToolCallStage } from "../gen/devtool/v1alpha/task_pb.ts";
import { stageOf } from "../tool-call-stage.ts";

const NAMES: ReadonlyMap<ToolCallStage, string> = new Map([
  [ToolCallStage.VALIDATING, "validating"],
  [ToolCallStage.AWAITING_APPROVAL, "awaiting_approval"],
  [ToolCallStage.SCHEDULED, "scheduled"],
  [ToolCallStage.EXECUTING, "executing"],
  [ToolCallStage.SUCCEEDED, "success"],
  [ToolCallStage.FAILED, "error"],
  [ToolCallStage.CANCELLED, "cancelled"],
]);

const STAGES: ReadonlyMap<string, ToolCallStage> = new Map([...NAMES].map(([stage, name]) => [name, stage]));

/** Encodes the status of a call. */
export function encodeCallStatus(call: ToolCall, detail: ToolCallDetail | undefined): string {
  return NAMES.get(detail?.stage || stageOf(call)) ?? "validating";
}

/** Decodes the status of a call as a stage. UNSPECIFIED for unknown names. */
export function decodeCallStage(name: string): ToolCallStage {
  return STAGES.get(name) ?? ToolCallStage.UNSPECIFIED;
}

/** Returns the RFC's status for a stage. */
export function statusOfStage(stage: ToolCallStage): ToolCallStatus {
  return STATUSES[stage] ?? ToolCallStatus.PENDING;
}

const STATUSES: Readonly<Partial<Record<ToolCallStage, ToolCallStatus>>> = {
  [ToolCallStage.EXECUTING]: ToolCallStatus.EXECUTING,
  [ToolCallStage.SUCCEEDED]: ToolCallStatus.SUCCEEDED,
  [ToolCallStage.FAILED]: ToolCallStatus.FAILED,
  [ToolCallStage.CANCELLED]: ToolCallStatus.CANCELLED,
};
