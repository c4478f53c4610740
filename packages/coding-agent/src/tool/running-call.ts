import { create } from "@bufbuild/protobuf";
import { READS_ONLY } from "@devtool/policy";
import {
  ConfirmationRequestSchema,
  findToolCallDetail,
  OPTION_CANCEL,
  oneLine,
  Role,
  type Task,
  type ToolCall,
  type ToolCallDetail,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import {
  type CallUpdate,
  Code,
  type Confirmations,
  changedDetail,
  DevtoolError,
  failpoint,
  toolFailure,
} from "@devtool/server/agent";
import { callError, failedCall, type PreparedCall } from "./prepared-call.ts";
import type { ToolEvent, ToolInvocation } from "./tool.ts";

/** What a running call needs to ask something. */
export interface AskingContext {
  readonly confirmations: Confirmations;
  /** The task, as its log has it now. */
  readonly task: Task;
  /** Takes what the operator should know, in words. */
  readonly onNotice: (text: string) => void;
  /** Makes the ids of the calls that are its questions: never the same twice. */
  readonly nextId: () => string;
}

/** Runs a call that may run: EXECUTING, what it shows while it runs, and its end. */
export async function* runCall(
  asked: PreparedCall,
  invocation: ToolInvocation,
  { context, signal }: { readonly context: AskingContext; readonly signal: AbortSignal },
): AsyncIterable<CallUpdate> {
  const { confirmationRequest: _answered, ...rest } = asked.call;
  const { args: inputParameters } = invocation;
  const description = oneLine(invocation.description);
  let call: ToolCall = { ...rest, status: ToolCallStatus.EXECUTING, inputParameters, description };
  let { detail } = asked;
  yield { call, detail };
  try {
    const permitted = detail.rule === READS_ONLY ? invocation.confinedToReading?.() : invocation;
    if (!permitted) throw new DevtoolError("the call cannot be confined to reading", Code.Internal);
    failpoint("devtool:call.run.before");
    for await (const event of permitted.execute(signal)) {
      if (event.case === "question") {
        yield* ask(call, event, { context, signal });
        continue;
      }
      call = shown(call, event);
      detail = explained(detail, event);
      yield { call, detail };
    }
    failpoint("devtool:call.run.after");
  } catch (reason) {
    signal.throwIfAborted();
    yield { call: failedCall(call, toolFailure("execution_failed", callError(reason, call, context).message)), detail };
  }
}

type ShownEvent = Exclude<ToolEvent, { case: "question" }>;

function shown(call: ToolCall, event: ShownEvent): ToolCall {
  switch (event.case) {
    case "live":
      return { ...call, liveContent: event.value };
    case "result": {
      const status = event.value.case === "output" ? ToolCallStatus.SUCCEEDED : ToolCallStatus.FAILED;
      const { liveContent: _shown, ...ended } = call;
      return { ...ended, status, result: event.value };
    }
    case "progress":
    case "process":
      return call;
    default:
      return event satisfies never;
  }
}

function explained(detail: ToolCallDetail, event: ShownEvent): ToolCallDetail {
  switch (event.case) {
    case "progress":
      return changedDetail(detail, { progress: event.value });
    case "process":
      return changedDetail(detail, event.value);
    default:
      return detail;
  }
}

/** Puts a question of a running call as a call of its own, which ends with the answer. */
async function* ask(
  parent: ToolCall,
  { value, reply }: Extract<ToolEvent, { case: "question" }>,
  { context, signal }: { readonly context: AskingContext; readonly signal: AbortSignal },
): AsyncIterable<CallUpdate> {
  const { details, description, options } = value;
  const call = create(ToolCallSchema, {
    toolCallId: context.nextId(),
    status: ToolCallStatus.PENDING,
    toolName: parent.toolName,
    description: oneLine(description),
    confirmationRequest: create(ConfirmationRequestSchema, { options: [...options], details }),
  });
  const detail = changedDetail(findToolCallDetail(context.task, call.toolCallId), {
    parentToolCallId: parent.toolCallId,
  });
  context.confirmations.open(call.toolCallId);
  yield { call, detail };
  const { selectedOptionId: optionId } = await context.confirmations.wait(call.toolCallId, signal);
  const { confirmationRequest: _answered, ...answered } = call;
  if (optionId !== OPTION_CANCEL) {
    yield { call: { ...answered, status: ToolCallStatus.EXECUTING }, detail };
    yield { call: { ...answered, status: ToolCallStatus.SUCCEEDED }, detail };
  }
  reply({ optionId, text: textBeside(context.task, call.toolCallId) });
}

/** The text of the message that answered a call; empty when it had none. */
function textBeside(task: Task, toolCallId: string): string {
  const message = task.history.findLast(
    ({ role, parts }) =>
      role === Role.USER &&
      parts.some(({ content }) => content.case === "confirmation" && content.value.toolCallId === toolCallId),
  );
  const texts = message?.parts.flatMap(({ content }) => (content.case === "text" ? [content.value] : [])) ?? [];
  return texts.join("\n");
}
