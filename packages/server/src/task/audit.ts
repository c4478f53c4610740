import { create, toJson } from "@bufbuild/protobuf";
import {
  ApprovalMode,
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
import { canonicalJson, defined } from "@devtool/schema/json";
import type { FailureType } from "../agent/failure.ts";

/**
 * Returns the audit records for the events of one append: the decisions about tool calls, and how calls
 * ended.
 *
 * A pure function of the task before the events and of the events. The store adds numbers and hashes,
 * because it chains the records of all tasks.
 */
export function auditRecords(before: Task, events: readonly TaskEvent[]): AuditRecord[] {
  const stages = new Map<string, ToolCallStage>();
  const answers = new Map<string, ToolCallConfirmation>();
  for (const { payload } of events) {
    if (payload.case !== "message") continue;
    for (const answer of confirmationsOf(payload.value)) answers.set(answer.toolCallId, answer);
  }
  return events.flatMap((event) => {
    if (event.payload.case !== "toolCall") return [];
    const call = event.payload.value;
    const { toolCallId } = call;
    const from = stages.get(toolCallId) ?? findToolCallDetail(before, toolCallId)?.stage ?? ToolCallStage.UNSPECIFIED;
    const to = event.toolCallDetail?.stage ?? ToolCallStage.UNSPECIFIED;
    stages.set(toolCallId, to);
    const answer = answers.get(toolCallId);
    const action = actionOf(call, from, to, answer);
    const record = (decision: Decision): AuditRecord => createRecord(before.principal, event, call, decision);
    switch (action) {
      case undefined:
        return [];
      case AuditAction.APPROVED:
        // With the user's own content, the digest of the call is known only when the call starts.
        return [record({ action, answer, isBound: !hasOwnContent(answer) })];
      case AuditAction.STARTED: {
        const earlier = findConfirmation(before, toolCallId);
        const started = record({ action, answer, isBound: true });
        if (!hasOwnContent(earlier)) return [started];
        const approved = { action: AuditAction.APPROVED, answer: earlier, isBound: true, includesCall: true };
        return [record(approved), started];
      }
      default:
        return [record({ action, answer, isBound: true })];
    }
  });
}

/** Returns the audit record for an event whose message changed the approval mode of the session. */
export function approvalModeRecord(
  principal: string,
  { taskId, sequence, time, approvalMode }: TaskEvent,
): AuditRecord {
  const action = AuditAction.APPROVAL_MODE_CHANGED;
  const shown = ApprovalMode[approvalMode] ?? String(approvalMode);
  return create(AuditRecordSchema, defined({ principal, taskId, sequence, time, action, shown }));
}

/** Whether the message of an event sets options of the agent itself. */
export function setsAgentOptions({ payload }: TaskEvent): boolean {
  return Object.keys(agentOptionsOf(payload)).length > 0;
}

/** Returns the audit record for an event whose message sets options of the agent itself. */
export function agentOptionsRecord(principal: string, { taskId, sequence, time, payload }: TaskEvent): AuditRecord {
  const action = AuditAction.AGENT_OPTIONS_SET;
  const shown = canonicalJson(agentOptionsOf(payload));
  return create(AuditRecordSchema, defined({ principal, taskId, sequence, time, action, shown }));
}

function agentOptionsOf(payload: TaskEvent["payload"]): Readonly<Record<string, string>> {
  switch (payload.case) {
    case "created":
      return payload.value.sessionSettings?.agentOptions ?? {};
    case "message":
      return payload.value.agentOptions;
    case "messageQueued":
      return payload.value.message?.agentOptions ?? {};
    default:
      return {};
  }
}

/** Whether an answer approves the user's own content of a file instead of the proposed one. */
function hasOwnContent(answer: ToolCallConfirmation | undefined): boolean {
  return answer?.modifiedDetails.case === "fileDetails";
}

/** Returns the action by which a call moved between two stages; undefined for a move that is not audited. */
function actionOf(
  call: ToolCall,
  from: ToolCallStage,
  to: ToolCallStage,
  answer: ToolCallConfirmation | undefined,
): AuditAction | undefined {
  switch (to) {
    case ToolCallStage.AWAITING_APPROVAL:
      return AuditAction.ASKED;
    case ToolCallStage.SCHEDULED:
      return from === ToolCallStage.AWAITING_APPROVAL ? AuditAction.APPROVED : AuditAction.ALLOWED;
    case ToolCallStage.EXECUTING:
      return from === ToolCallStage.EXECUTING ? undefined : AuditAction.STARTED;
    case ToolCallStage.SUCCEEDED:
      return AuditAction.SUCCEEDED;
    case ToolCallStage.FAILED: {
      const isUndecided = from === ToolCallStage.UNSPECIFIED || from === ToolCallStage.VALIDATING;
      const isDenied = call.result.case === "error" && call.result.value.type === POLICY_VIOLATION;
      return isUndecided && isDenied ? AuditAction.DENIED : AuditAction.FAILED;
    }
    case ToolCallStage.CANCELLED:
      return answer?.selectedOptionId === OPTION_CANCEL ? AuditAction.DECLINED : AuditAction.CANCELLED;
    case ToolCallStage.VALIDATING:
    case ToolCallStage.UNSPECIFIED:
      return undefined;
    default:
      return to satisfies never;
  }
}

const POLICY_VIOLATION: FailureType = "policy_violation";

/** The actions whose records include the call: those that decide whether it may start. */
const WITH_CALL: ReadonlySet<AuditAction> = new Set([AuditAction.ASKED, AuditAction.ALLOWED, AuditAction.DENIED]);

/** A decision about a call, or its outcome. */
interface Decision {
  readonly action: AuditAction;
  /** The user's answer; undefined when the user was not asked. */
  readonly answer: ToolCallConfirmation | undefined;
  /** Whether the decision applies to the call with its present digest. */
  readonly isBound: boolean;
  /** Whether the record includes the call. Default: for the actions in `WITH_CALL`. */
  readonly includesCall?: boolean;
}

function createRecord(
  principal: string,
  { taskId, sequence, time, toolCallDetail }: TaskEvent,
  call: ToolCall,
  { action, answer, isBound, includesCall = WITH_CALL.has(action) }: Decision,
): AuditRecord {
  return create(
    AuditRecordSchema,
    defined({
      principal,
      taskId,
      sequence,
      toolCallId: call.toolCallId,
      toolName: call.toolName,
      action,
      optionId: answer?.selectedOptionId ?? "",
      time,
      shown: includesCall ? canonicalJson(toJson(ToolCallSchema, call)) : undefined,
      clientLabel: answer ? toolCallDetail?.answerer?.clientLabel : undefined,
      rule: toolCallDetail?.rule,
      sandbox: toolCallDetail?.sandbox,
      digest: isBound ? toolCallDetail?.digest : undefined,
    }),
  );
}
