import { create, toJson } from "@bufbuild/protobuf";
import {
  AuditAction,
  type AuditRecord,
  AuditRecordSchema,
  confirmationsOf,
  findConfirmation,
  findToolCallDetail,
  OPTION_CANCEL,
  type Task,
  type TaskEvent,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallSchema,
  ToolCallStage,
} from "@devtool/schema";
import { canonicalJson } from "@devtool/schema/json";
import type { FailureType } from "../agent/failure.ts";

/**
 * Says, for the events of one append, what was decided about tool calls and what became of them. Numbers and hashes are
 * the store's: it chains the records of all tasks.
 */
export function auditRecords(before: Task, events: readonly TaskEvent[]): AuditRecord[] {
  const stages = new Map<string, ToolCallStage>();
  const answers = answersIn(events);
  return events.flatMap((event) => {
    if (event.payload.case !== "toolCall") return [];
    const call = event.payload.value;
    const earlier = findToolCallDetail(before, call.toolCallId);
    const from = stages.get(call.toolCallId) ?? earlier?.stage ?? ToolCallStage.UNSPECIFIED;
    const to = event.toolCallDetail?.stage ?? ToolCallStage.UNSPECIFIED;
    stages.set(call.toolCallId, to);
    const answer = answers.get(call.toolCallId);
    const action = actionOf({ from, to, call, optionId: answer?.selectedOptionId ?? "" });
    const record = (decision: Decision): AuditRecord => recordOf(before.principal, event, { call, ...decision });
    switch (action) {
      case undefined:
        return [];
      case AuditAction.APPROVED:
        return [record({ action, answer, binds: !hasOwnContent(answer) })];
      case AuditAction.STARTED:
        return [...approvalOfOwnContent(before, call).map(record), record({ action, answer, binds: true })];
      default:
        return [record({ action, answer, binds: true })];
    }
  });
}

/** What users answered in these events, by call. */
function answersIn(events: readonly TaskEvent[]): ReadonlyMap<string, ToolCallConfirmation> {
  const answers = events.flatMap(({ payload }) => (payload.case === "message" ? confirmationsOf(payload.value) : []));
  return new Map(answers.map((answer) => [answer.toolCallId, answer]));
}

/** An answer that approves the user's own content does not approve what was shown: what it binds is known at the start. */
function hasOwnContent(answer: ToolCallConfirmation | undefined): boolean {
  return answer?.modifiedDetails.case === "fileDetails";
}

function approvalOfOwnContent(task: Task, { toolCallId }: ToolCall): Decision[] {
  const answer = findConfirmation(task, toolCallId);
  return hasOwnContent(answer) ? [{ action: AuditAction.APPROVED, answer, binds: true, shows: true }] : [];
}

interface Move {
  readonly from: ToolCallStage;
  readonly to: ToolCallStage;
  readonly call: ToolCall;
  readonly optionId: string;
}

function actionOf({ from, to, call, optionId }: Move): AuditAction | undefined {
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
      return isUndecided(from) && isDenied(call) ? AuditAction.DENIED : AuditAction.FAILED;
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

/** Tells whether a policy stopped a call, and not that there is no such call. */
function isDenied({ result }: ToolCall): boolean {
  return result.case === "error" && result.value.type === POLICY_VIOLATION;
}

const POLICY_VIOLATION: FailureType = "policy_violation";

/** What the actions by which a call may begin, or may not, show of it. */
const SHOWING: ReadonlySet<AuditAction> = new Set([AuditAction.ASKED, AuditAction.ALLOWED, AuditAction.DENIED]);

/** What was decided about a call. */
interface Decision {
  readonly action: AuditAction;
  /** What the user answered; undefined when nobody asked. */
  readonly answer: ToolCallConfirmation | undefined;
  /** Whether it is about the call with its present digest. */
  readonly binds: boolean;
  /** Whether the record has the call in it. */
  readonly shows?: boolean;
}

function recordOf(
  principal: string,
  { taskId, sequence, time, toolCallDetail }: TaskEvent,
  { call, action, answer, binds, shows = SHOWING.has(action) }: Decision & { readonly call: ToolCall },
): AuditRecord {
  return create(AuditRecordSchema, {
    principal,
    taskId,
    sequence,
    toolCallId: call.toolCallId,
    toolName: call.toolName,
    action,
    optionId: answer?.selectedOptionId ?? "",
    ...(time && { time }),
    ...(shows && { shown: canonicalJson(toJson(ToolCallSchema, call)) }),
    ...(toolCallDetail && { rule: toolCallDetail.rule, sandbox: toolCallDetail.sandbox }),
    ...(toolCallDetail && binds && { digest: toolCallDetail.digest }),
  });
}
