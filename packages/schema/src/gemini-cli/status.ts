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

/** The dialect's name of where a call is. */
export function encodeCallStatus(call: ToolCall, detail: ToolCallDetail | undefined): string {
  return NAMES.get(detail?.stage || stageOf(call)) ?? "validating";
}

/** The stage that the dialect names so; UNSPECIFIED for one that we do not know. */
export function decodeCallStage(name: string): ToolCallStage {
  return STAGES.get(name) ?? ToolCallStage.UNSPECIFIED;
}

/** The RFC's status of a call in a stage: the first three are PENDING. */
export function statusOfStage(stage: ToolCallStage): ToolCallStatus {
  return STATUSES[stage] ?? ToolCallStatus.PENDING;
}

const STATUSES: Readonly<Partial<Record<ToolCallStage, ToolCallStatus>>> = {
  [ToolCallStage.EXECUTING]: ToolCallStatus.EXECUTING,
  [ToolCallStage.SUCCEEDED]: ToolCallStatus.SUCCEEDED,
  [ToolCallStage.FAILED]: ToolCallStatus.FAILED,
  [ToolCallStage.CANCELLED]: ToolCallStatus.CANCELLED,
};
