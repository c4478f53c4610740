import { isDeepStrictEqual } from "node:util";
import {
  create,
  type JsonObject,
  type JsonValue,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import { CALL_CHAIN_URI } from "@devtool/internal/call-chain-uri";
import { keepStart } from "@devtool/internal/cut-text";
import {
  canonicalJson,
  defined,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import {
  ApprovalMode,
  AuditAction,
  type AuditRecord,
  AuditRecordSchema,
  ConversationForkSchema,
  findConfirmation,
  findToolCallDetail,
  reachOfAnswer,
  type Task,
  type TaskCreated,
  TaskCreatedSchema,
  type TaskEvent,
  type ToolCall,
  type ToolCallConfirmation,
  type ToolCallDetail,
  ToolCallSchema,
  ToolCallStage,
} from "@devtool/schema";
import type { FailureType } from "../agent/failure.ts";

/**
 * Returns the audit records for the events of one append: the decisions about
 * tool calls, and how calls ended.
 *
 * A pure function of the task before the events and of the events. The store
 * adds numbers and hashes, because it chains the records of all tasks.
 */
export function auditRecords(
  before: Task,
  events: readonly TaskEvent[],
): AuditRecord[] {
  const stages = new Map<string, ToolCallStage>();
  const answers = answersIn(events);
  return events.flatMap((event) => {
    if (event.payload.case !== "toolCall") return [];
    const call = event.payload.value;
    const { toolCallId } = call;
    const from =
      stages.get(toolCallId) ??
      findToolCallDetail(before, toolCallId)?.stage ??
      ToolCallStage.UNSPECIFIED;
    const to = event.toolCallDetail?.stage ?? ToolCallStage.UNSPECIFIED;
    stages.set(toolCallId, to);
    const { answer, edit } = answers.get(toolCallId) ?? {};
    const action = actionOf(call, from, to, answer, edit);
    if (action === undefined) return [];
    const record = (decision: Partial<Decision> = {}): AuditRecord =>
      createRecord(before.principal, event, call, {
        action,
        answer,
        isBound: true,
        ...decision,
      });
    switch (action) {
      case AuditAction.ARGUMENTS_CHANGED:
        return [record({ shown: describeEdit(call, edit ?? {}) })];
      case AuditAction.APPROVED:
        // With the user's own content of a file, the digest of the call is
        // known only when the call starts.
        return [record({ isBound: !hasOwnContent(answer) })];
      case AuditAction.STARTED: {
        const earlier = findConfirmation(before, toolCallId);
        if (!hasOwnContent(earlier)) return [record()];
        const approved = record({
          action: AuditAction.APPROVED,
          answer: earlier,
          shown: canonicalJson(toJson(ToolCallSchema, call)),
        });
        return [approved, record()];
      }
      default:
        return [record()];
    }
  });
}

/** The answer of a user to a call, with the arguments that they wrote. */
interface GivenAnswer {
  readonly answer: ToolCallConfirmation;
  readonly edit: JsonObject | undefined;
}

/** Returns the answers in the messages of events, by the ids of their calls. */
function answersIn(
  events: readonly TaskEvent[],
): ReadonlyMap<string, GivenAnswer> {
  const parts = events.flatMap(({ payload }) =>
    payload.case === "message" ? payload.value.parts : [],
  );
  return new Map(
    parts.flatMap(({ content, modifiedArguments: edit }) =>
      content.case === "confirmation"
        ? [[content.value.toolCallId, { answer: content.value, edit }] as const]
        : [],
    ),
  );
}

/** Whether an answer has content of the user's own for a file. */
function hasOwnContent(answer: ToolCallConfirmation | undefined): boolean {
  return answer?.modifiedDetails.case === "fileDetails";
}

/**
 * Returns the audit record for an event whose message changed the approval mode
 * of the session.
 */
export function approvalModeRecord(
  principal: string,
  { taskId, sequence, time, approvalMode }: TaskEvent,
): AuditRecord {
  const action = AuditAction.APPROVAL_MODE_CHANGED;
  const shown = ApprovalMode[approvalMode] ?? String(approvalMode);
  return create(
    AuditRecordSchema,
    defined({ principal, taskId, sequence, time, action, shown }),
  );
}

/**
 * Returns the audit records for the events of one append whose messages set
 * options of the agent itself.
 *
 * @param principalOf returns the principal of the task; called only for such an
 * event, because it folds the task
 */
export function agentOptionsRecords(
  principalOf: () => string,
  events: readonly TaskEvent[],
): AuditRecord[] {
  const action = AuditAction.AGENT_OPTIONS_SET;
  const records: AuditRecord[] = [];
  for (const { taskId, sequence, time, payload } of events) {
    const options = agentOptionsOf(payload);
    if (!options || Object.keys(options).length === 0) continue;
    const shown = canonicalJson(options);
    const principal = principalOf();
    const fields = { principal, taskId, sequence, time, action, shown };
    records.push(create(AuditRecordSchema, defined(fields)));
  }
  return records;
}

function agentOptionsOf(
  payload: TaskEvent["payload"],
): Readonly<Record<string, string>> | undefined {
  switch (payload.case) {
    case "created":
      return payload.value.sessionSettings?.agentOptions;
    case "message":
      return payload.value.agentOptions;
    case "messageQueued":
      return payload.value.message?.agentOptions;
    default:
      return undefined;
  }
}

/**
 * Returns the audit records for the creation of a task, which is the first event
 * of its append: that another agent made it, and that it goes on with another
 * conversation.
 */
export function createdRecords([first]: readonly TaskEvent[]): AuditRecord[] {
  if (first?.payload.case !== "created") return [];
  const { taskId, sequence, time, payload } = first;
  const { principal } = payload.value;
  const fields = { principal, taskId, sequence, time };
  const made = [
    { action: AuditAction.DELEGATED, shown: delegationOf(payload.value) },
    { action: AuditAction.FORKED, shown: forkOf(payload.value) },
  ];
  return made.flatMap(({ action, shown }) =>
    shown === undefined
      ? []
      : [create(AuditRecordSchema, defined({ ...fields, action, shown }))],
  );
}

/**
 * Returns from where a task came, as the agent that made it says, and with which
 * rights, as JSON. Undefined for a task that no other agent made.
 */
function delegationOf({
  message,
  sessionSettings,
}: TaskCreated): string | undefined {
  const chain = message?.metadata?.[CALL_CHAIN_URI];
  if (chain === undefined) return undefined;
  const { agent, approvalMode, allowedTools } = sessionSettings ?? {};
  const budget = message?.turnSettings?.budget;
  const created = create(TaskCreatedSchema, {
    sessionSettings: defined({ agent, approvalMode, allowedTools }),
    ...(budget && { message: { turnSettings: { budget } } }),
  });
  return canonicalJson({
    ...boundedChain(chain),
    created: toJson(TaskCreatedSchema, created),
  });
}

/** Returns with which conversation a task goes on, as JSON. */
function forkOf({ message }: TaskCreated): string | undefined {
  return (
    message?.fork && canonicalJson(toJson(ConversationForkSchema, message.fork))
  );
}

/** The maximum number of agents of a chain that are recorded. */
const MAX_CHAIN_AGENTS = 64;
/** The maximum length of each text of a chain, in characters. */
const MAX_CHAIN_TEXT = 1024;

/**
 * Returns the chain of a task as it is recorded: whoever made the task may claim
 * any, of any size. `chainCut` says that it claimed more.
 */
function boundedChain(claimed: JsonValue): JsonObject {
  const fields = objectOrEmpty(claimed);
  const chain: JsonObject = {};
  for (const name of ["parentTaskId", "parentToolCallId", "calledAs"]) {
    const value = fields[name];
    if (typeof value !== "string") continue;
    chain[name] = keepStart(value, MAX_CHAIN_TEXT);
  }
  if (Array.isArray(fields.agents)) {
    chain.agents = fields.agents
      .slice(0, MAX_CHAIN_AGENTS)
      .map((agent) => keepStart(stringOrEmpty(agent), MAX_CHAIN_TEXT));
  }
  const isWhole = canonicalJson(chain) === canonicalJson(claimed);
  return isWhole ? { chain } : { chain, chainCut: true };
}

/**
 * Returns the arguments that a user wrote for a call, and the names of those
 * that differ, as JSON with sorted keys.
 */
function describeEdit(
  { inputParameters: before = {} }: ToolCall,
  args: JsonObject,
): string {
  const names = new Set([...Object.keys(before), ...Object.keys(args)]);
  const changed = [...names]
    .filter((name) => !isDeepStrictEqual(before[name], args[name]))
    .sort();
  return canonicalJson({ arguments: args, changed });
}

/**
 * Returns the action by which a call moved between two stages; undefined for a
 * move that is not audited.
 */
function actionOf(
  call: ToolCall,
  from: ToolCallStage,
  to: ToolCallStage,
  answer: ToolCallConfirmation | undefined,
  edit: JsonObject | undefined,
): AuditAction | undefined {
  switch (to) {
    case ToolCallStage.VALIDATING:
      return edit && from === ToolCallStage.AWAITING_APPROVAL
        ? AuditAction.ARGUMENTS_CHANGED
        : undefined;
    case ToolCallStage.AWAITING_APPROVAL:
      return AuditAction.ASKED;
    case ToolCallStage.SCHEDULED:
      return from === ToolCallStage.AWAITING_APPROVAL
        ? AuditAction.APPROVED
        : AuditAction.ALLOWED;
    case ToolCallStage.EXECUTING:
      return from === ToolCallStage.EXECUTING ? undefined : AuditAction.STARTED;
    case ToolCallStage.SUCCEEDED:
      return AuditAction.SUCCEEDED;
    case ToolCallStage.FAILED: {
      const isUndecided =
        from === ToolCallStage.UNSPECIFIED || from === ToolCallStage.VALIDATING;
      const isDenied =
        call.result.case === "error" &&
        call.result.value.type === POLICY_VIOLATION;
      return isUndecided && isDenied ? AuditAction.DENIED : AuditAction.FAILED;
    }
    case ToolCallStage.CANCELLED:
      return answer && reachOfAnswer(answer.selectedOptionId) === "decline"
        ? AuditAction.DECLINED
        : AuditAction.CANCELLED;
    case ToolCallStage.UNSPECIFIED:
      return undefined;
    default:
      return to satisfies never;
  }
}

const POLICY_VIOLATION: FailureType = "policy_violation";

/**
 * The actions whose records include the call: those that decide whether it may
 * start.
 */
const WITH_CALL: ReadonlySet<AuditAction> = new Set([
  AuditAction.ASKED,
  AuditAction.ALLOWED,
  AuditAction.DENIED,
]);

/** A decision about a call, or its outcome. */
interface Decision {
  readonly action: AuditAction;
  /** The user's answer; undefined when the user was not asked. */
  readonly answer: ToolCallConfirmation | undefined;
  /** Whether the decision applies to the call with its present digest. */
  readonly isBound: boolean;
  /**
   * What the user was shown or wrote. Default: the call, for the actions in
   * `WITH_CALL`.
   */
  readonly shown?: string;
}

function createRecord(
  principal: string,
  { taskId, sequence, time, toolCallDetail }: TaskEvent,
  call: ToolCall,
  {
    action,
    answer,
    isBound,
    shown = WITH_CALL.has(action)
      ? canonicalJson(toJson(ToolCallSchema, call))
      : "",
  }: Decision,
): AuditRecord {
  const { answerer, rule, sandbox, digest } = toolCallDetail ?? {};
  return create(AuditRecordSchema, {
    principal,
    taskId,
    sequence,
    toolCallId: call.toolCallId,
    toolName: call.toolName,
    action,
    optionId: answer?.selectedOptionId ?? "",
    time,
    shown,
    clientLabel: (answer && answerer?.clientLabel) ?? "",
    rule: rule ?? "",
    sandbox: sandbox ?? "",
    digest: (isBound && digest) || NO_DIGEST,
    ...delegationIn(toolCallDetail),
  });
}

/** The maximum length of the id of another agent's task, in characters. */
const MAX_TASK_ID_LENGTH = 256;

/** Returns what a record has of a delegation: no words of the other agent. */
function delegationIn({
  delegation,
}: Partial<ToolCallDetail> = {}): MessageInitShape<typeof AuditRecordSchema> {
  if (!delegation) return {};
  const { agent, mcpServer, taskId } = delegation;
  const isKept = taskId.length <= MAX_TASK_ID_LENGTH;
  return { delegation: { agent, mcpServer, taskId: isKept ? taskId : "" } };
}

const NO_DIGEST = new Uint8Array();
