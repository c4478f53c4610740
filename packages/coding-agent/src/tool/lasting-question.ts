import { hash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { oneLine } from "@devtool/internal/visible-text";
import {
  answersTo,
  answerText,
  ConfirmationRequestSchema,
  findConfirmation,
  findModifiedArguments,
  findToolCall,
  findToolCallDetail,
  isAwaitingApproval,
  isEnded,
  OPTION_CANCEL,
  OPTION_MODIFY_ARGUMENTS,
  OPTION_MODIFY_WITH_EDITOR,
  openToolCalls,
  structFromJson,
  type Task,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import {
  type CallUpdate,
  type Confirmations,
  changedDetail,
} from "@devtool/server/agent";
import type { LastingAnswer, ToolEvent } from "./tool.ts";

/** Dependencies of `askLasting`. */
interface AskContext {
  readonly confirmations: Confirmations;
  /** The current state of the task. */
  readonly task: Task;
}

type LastingQuestionEvent = Extract<ToolEvent, { case: "lastingQuestion" }>;

/**
 * Publishes a question of another task as a call of its own, which ends when
 * that task has the answer, or when the question is withdrawn.
 *
 * Its id follows from what asks, so a question that the log has already is not
 * published again, and neither is an answer in the log asked for again, unless
 * the other task has it and asks again: it is given to that task.
 */
export async function* askLasting(
  parent: ToolCall,
  event: LastingQuestionEvent,
  context: AskContext,
  signal: AbortSignal,
): AsyncIterable<CallUpdate> {
  const { value, reply, withdrawn } = event;
  const { known, call } = questionCall(parent, event, context.task);
  const { toolCallId } = call;
  yield* closeQuestions(parent, context, toolCallId, event.hasArrived);
  if (withdrawn.aborted) return;
  const { digest, delegation, argumentsEditable, reason } = value;
  const detail = changedDetail(findToolCallDetail(context.task, toolCallId), {
    parentToolCallId: parent.toolCallId,
    digest,
    delegation,
    argumentsEditable,
    reason,
  });
  let answer =
    known === "answered" ? answerOf(context.task, toolCallId) : undefined;
  if (!answer) {
    context.confirmations.open(toolCallId);
    if (known !== "asked") yield { call, detail };
    try {
      answer = await context.confirmations.wait(
        toolCallId,
        AbortSignal.any([signal, withdrawn]),
      );
    } catch {
      signal.throwIfAborted();
      yield { call: cancelled(call), detail };
      return;
    }
  }
  const { selectedOptionId: option } = answer;
  const runs = option !== OPTION_CANCEL && !ASKS_AGAIN.has(option);
  const { confirmationRequest: _answered, ...answered } = call;
  const taken = changedDetail(findToolCallDetail(context.task, toolCallId), {});
  if (runs) {
    yield {
      call: { ...answered, status: ToolCallStatus.EXECUTING },
      detail: taken,
    };
  }
  const fate = await reply(lastingAnswer(context.task, toolCallId, answer));
  if (fate === "too late" && option !== OPTION_CANCEL) {
    yield { call: cancelled(call), detail: taken };
  } else if (runs && fate === "taken") {
    yield {
      call: { ...answered, status: ToolCallStatus.SUCCEEDED },
      detail: taken,
    };
  }
}

/** The options with which the other task asks again. */
const ASKS_AGAIN: ReadonlySet<string> = new Set([
  OPTION_MODIFY_WITH_EDITOR,
  OPTION_MODIFY_ARGUMENTS,
]);

/**
 * Ends the questions of a call that wait, for instance since the other task was
 * answered elsewhere.
 *
 * @param except the id of one that still counts
 * @param hasArrived whether the other task has an answer that the log has
 */
export function* closeQuestions(
  parent: ToolCall,
  { task }: Pick<AskContext, "task">,
  except: string = "",
  hasArrived: (answerId: string) => boolean = () => false,
): Iterable<CallUpdate> {
  for (const call of openToolCalls(task)) {
    const { toolCallId } = call;
    const detail = findToolCallDetail(task, toolCallId);
    if (detail?.parentToolCallId !== parent.toolCallId) continue;
    if (toolCallId === except || !detail.delegation) continue;
    const isTaken =
      call.status === ToolCallStatus.EXECUTING &&
      hasArrived(answerIdOf(task, toolCallId));
    yield {
      call: isTaken
        ? { ...call, status: ToolCallStatus.SUCCEEDED }
        : cancelled(call),
      detail,
    };
  }
}

function cancelled({
  confirmationRequest: _closed,
  ...call
}: ToolCall): ToolCall {
  return { ...call, status: ToolCallStatus.CANCELLED };
}

/** What the log has of a question: it waits, has an answer, or is new. */
type Known = "asked" | "answered" | "new";

/**
 * Returns the call that a question is, and what the log has of it.
 *
 * What asks may ask more than once; each time after its last answer was taken is
 * a call of its own.
 */
function questionCall(
  parent: ToolCall,
  { value: question, isGiven }: LastingQuestionEvent,
  task: Task,
): { readonly known: Known; readonly call: ToolCall } {
  const key = hash("sha256", question.key, "base64url").slice(0, 16);
  for (let round = 0; ; round++) {
    const toolCallId = `${parent.toolCallId}:${key}:${round}`;
    const call = create(ToolCallSchema, {
      toolCallId,
      status: ToolCallStatus.PENDING,
      toolName: parent.toolName,
      description: oneLine(question.description),
      inputParameters: structFromJson(question.args),
      confirmationRequest: create(ConfirmationRequestSchema, {
        options: [...question.options],
        details: question.details,
      }),
    });
    const found = findToolCall(task, toolCallId);
    if (!found) return { known: "new", call };
    const { digest } = findToolCallDetail(task, toolCallId) ?? {};
    const isSame = Buffer.compare(digest ?? EMPTY, question.digest) === 0;
    if (isSame && isAwaitingApproval(found)) return { known: "asked", call };
    const answer = answerOf(task, toolCallId);
    const counts = isSame && !isGiven(answerIdOf(task, toolCallId));
    // A call that the user declines ends at once; the other task may not know.
    const isDeclined = answer?.selectedOptionId === OPTION_CANCEL;
    if (isEnded(found) && !(counts && isDeclined)) continue;
    return { known: counts ? "answered" : "new", call };
  }
}

const EMPTY = new Uint8Array();

function answerOf(
  task: Task,
  toolCallId: string,
): ToolCallConfirmation | undefined {
  return findConfirmation(task, toolCallId);
}

function lastingAnswer(
  task: Task,
  toolCallId: string,
  { selectedOptionId: optionId, modifiedDetails }: ToolCallConfirmation,
): LastingAnswer {
  const { value } = modifiedDetails;
  const modifiedArguments =
    optionId === OPTION_MODIFY_ARGUMENTS
      ? findModifiedArguments(task, toolCallId)
      : undefined;
  return {
    optionId,
    text: answerText(task, toolCallId),
    answerId: answerIdOf(task, toolCallId),
    newContent: value?.newContent,
    modifiedArguments,
  };
}

/** Identifies the last answer to a question. */
function answerIdOf(task: Task, toolCallId: string): string {
  return `${task.id}:${toolCallId}:${answersTo(task, toolCallId).length}`;
}
