import { create, toJson } from "@bufbuild/protobuf";
import {
  AuditAction,
  type AuditRecord,
  AuditRecordSchema,
  confirmationsOf,
  findToolCallDetail,
  OPTION_CANCEL,
  type Task,
  type TaskEvent,
  type ToolCall,
  ToolCallSchema,
  ToolCallStage,
} from "@devtool/schema";
import { canonicalJson } from "../tool/call-digest.ts";

/**
 * Says, for the events of one append, what was decided about tool calls and what became of them. Numbers and hashes are
 * the store's: it chains the records of all tasks.
 */
export function auditRecords(before: Task, events: readonly TaskEvent[]): AuditRecord[] {
  const stages = new Map<string, ToolCallStage>();
  const options = chosenOptions(events);
  return events.flatMap((event) => {
    if (event.payload.case !== "toolCall") return [];
    const { toolCallId } = event.payload.value;
    const from = stages.get(toolCallId) ?? findToolCallDetail(before, toolCallId)?.stage ?? ToolCallStage.UNSPECIFIED;
    const to = event.toolCallDetail?.stage ?? ToolCallStage.UNSPECIFIED;
    stages.set(toolCallId, to);
    const optionId = options.get(toolCallId) ?? "";
    const action = actionOf({ from, to, optionId });
    return action === undefined
      ? []
      : [recordOf(before.principal, event, { call: event.payload.value, action, optionId })];
  });
}

/** What users answered in these events, by call. */
function chosenOptions(events: readonly TaskEvent[]): ReadonlyMap<string, string> {
  const answers = events.flatMap(({ payload }) => (payload.case === "message" ? confirmationsOf(payload.value) : []));
  return new Map(answers.map(({ toolCallId, selectedOptionId }) => [toolCallId, selectedOptionId]));
}

interface Move {
  readonly from: ToolCallStage;
  readonly to: ToolCallStage;
  readonly optionId: string;
}

function actionOf({ from, to, optionId }: Move): AuditAction | undefined {
  switch (to) {
    case ToolCallStage.AWAITING_APPROVAL:
      return AuditAction.ASKED;
    case ToolCallStage.SCHEDULED:
      return from === ToolCallStage.AWAITING_APPROVAL ? AuditAction.APPROVED : AuditAction.ALLOWED;
    case ToolCallStage.EXECUTING:
      return from === ToolCallStage.EXECUTING ? undefined : AuditAction.STARTED;
    case ToolCallStage.SUCCEEDED:
      return AuditAction.SUCCEEDED;
    case ToolCallStage.FAILED:
      return isUndecided(from) ? AuditAction.DENIED : AuditAction.FAILED;
    case ToolCallStage.CANCELLED:
      return optionId === OPTION_CANCEL ? AuditAction.DECLINED : AuditAction.CANCELLED;
    case ToolCallStage.VALIDATING:
    case ToolCallStage.UNSPECIFIED:
      return undefined;
    default:
      return to satisfies never;
  }
}

function isUndecided(stage: ToolCallStage): boolean {
  return stage === ToolCallStage.UNSPECIFIED || stage === ToolCallStage.VALIDATING;
}

/** What the actions by which a call may begin, or may not, show of it. */
const SHOWING: ReadonlySet<AuditAction> = new Set([AuditAction.ASKED, AuditAction.ALLOWED, AuditAction.DENIED]);

function recordOf(
  principal: string,
  { taskId, sequence, time, toolCallDetail }: TaskEvent,
  { call, action, optionId }: { readonly call: ToolCall; readonly action: AuditAction; readonly optionId: string },
): AuditRecord {
  return create(AuditRecordSchema, {
    principal,
    taskId,
    sequence,
    toolCallId: call.toolCallId,
    toolName: call.toolName,
    action,
    optionId,
    ...(time && { time }),
    ...(SHOWING.has(action) && { shown: canonicalJson(toJson(ToolCallSchema, call)) }),
    ...(toolCallDetail && {
      digest: toolCallDetail.digest,
      rule: toolCallDetail.rule,
      sandbox: toolCallDetail.sandbox,
    }),
  });
}
