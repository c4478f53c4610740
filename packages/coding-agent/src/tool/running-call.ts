import { create } from "@bufbuild/protobuf";
import { failpoint } from "@devtool/internal/failpoint";
import { defined } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import { READS_ONLY } from "@devtool/policy";
import {
  answerText,
  ConfirmationRequestSchema,
  findToolCallDetail,
  OPTION_CANCEL,
  type Task,
  type ToolCall,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import {
  type CallUpdate,
  Code,
  type Confirmations,
  changedDetail,
  DevtoolError,
  type Turn,
  toolFailure,
} from "@devtool/server/agent";
import { askLasting, closeQuestions } from "./lasting-question.ts";
import { callError, failedCall, type PreparedCall } from "./prepared-call.ts";
import type {
  SampleRequest,
  SampleResponse,
  ToolEvent,
  ToolInvocation,
  ToolResult,
} from "./tool.ts";

/** Dependencies of a running call. */
export interface RunContext {
  readonly confirmations: Confirmations;
  /** The current state of the task. */
  readonly task: Task;
  /** Receives notices for the operator, as plain text. */
  readonly onNotice: (text: string) => void;
  /** Creates a unique id for a question, which is a call of its own. */
  readonly nextId: () => string;
  /** `Turn.traceContext`. Default: the server records no traces. */
  readonly traceContext?: Turn["traceContext"];
  /** Asks the agent's model for a call. Default: there is none to ask. */
  readonly sample?: Sample;
}

/** Asks the agent's model on behalf of the running call with an id. */
export type Sample = (
  request: SampleRequest,
  callId: string,
  signal: AbortSignal,
) => Promise<SampleResponse>;

/**
 * Runs a call that may run. Yields it when it starts, with each event, and when
 * it ends.
 */
export async function* runCall(
  prepared: PreparedCall,
  invocation: ToolInvocation,
  context: RunContext,
  signal: AbortSignal,
): AsyncIterable<CallUpdate> {
  const { call } = prepared;
  let update = startedCall(prepared, invocation);
  yield update;
  try {
    const permitted = permittedRun(prepared, invocation);
    failpoint("devtool:call.run.before");
    const trace = context.traceContext?.(call.toolCallId);
    const place = {
      toolCallId: call.toolCallId,
      isResumed: call.status === ToolCallStatus.EXECUTING,
      get task() {
        return context.task;
      },
    };
    for await (const event of permitted.execute(signal, trace, place)) {
      if (event.case === "lastingQuestion") {
        yield* askLasting(update.call, event, context, signal);
      } else if (event.case === "question") {
        yield* ask(update.call, event, context, signal);
      } else if (event.case === "questionsOver") {
        yield* closeQuestions(update.call, context, "", event.hasArrived);
      } else if (event.case === "sample") {
        await answerSample(call.toolCallId, event, context, signal);
      } else {
        if (event.case === "result") {
          yield* closeQuestions(update.call, context);
        }
        update = applyEvent(update, event);
        yield update;
      }
    }
    failpoint("devtool:call.run.after");
  } catch (reason) {
    signal.throwIfAborted();
    const { message } = callError(reason, update.call, context);
    yield* closeQuestions(update.call, context);
    yield {
      ...update,
      call: failedCall(update.call, toolFailure("execution_failed", message)),
    };
  }
}

function startedCall(
  { call: prepared, detail }: PreparedCall,
  { args, description, delegation }: ToolInvocation,
): Required<CallUpdate> {
  const { confirmationRequest: _answered, ...call } = prepared;
  return {
    call: {
      ...call,
      status: ToolCallStatus.EXECUTING,
      inputParameters: args,
      description: oneLine(description),
    },
    detail: changedDetail(
      detail,
      defined({ delegation: detail.delegation ?? delegation }),
    ),
  };
}

/** Returns what may run: what was approved, or only what reads. */
function permittedRun(
  { call, detail }: PreparedCall,
  invocation: ToolInvocation,
): Pick<ToolInvocation, "execute"> {
  const approved = call.confirmationRequest && invocation.withAccess?.();
  const permitted =
    detail.rule === READS_ONLY
      ? invocation.confinedToReading?.()
      : (approved ?? invocation);
  if (permitted) return permitted;
  throw new DevtoolError(
    "the call cannot be confined to reading",
    Code.Internal,
  );
}

function applyEvent(
  { call, detail }: Required<CallUpdate>,
  event: Exclude<
    ToolEvent,
    | AskingEvent
    | SamplingEvent
    | { readonly case: "lastingQuestion" | "questionsOver" }
  >,
): Required<CallUpdate> {
  switch (event.case) {
    case "delegation":
      return {
        call,
        detail: changedDetail(detail, { delegation: event.value }),
      };
    case "live": {
      const liveContent = event.value.toWellFormed();
      return { call: { ...call, liveContent }, detail };
    }
    case "result": {
      const status =
        event.value.case === "output"
          ? ToolCallStatus.SUCCEEDED
          : ToolCallStatus.FAILED;
      const { liveContent: _replaced, ...ended } = call;
      const result = wellFormedResult(event.value);
      return {
        call: { ...ended, status, result },
        detail: event.files
          ? changedDetail(detail, { files: [...event.files] })
          : detail,
      };
    }
    case "progress":
      return { call, detail: changedDetail(detail, { progress: event.value }) };
    case "process":
      return { call, detail: changedDetail(detail, event.value) };
    default:
      return event satisfies never;
  }
}

/**
 * Returns a result whose text has no half of a surrogate pair, which APIs of
 * models refuse: tools of all sources make results.
 */
function wellFormedResult(result: ToolResult): ToolResult {
  const { case: kind, value } = result;
  if (kind === "error" || value.result.case !== "text") return result;
  const text = value.result.value.toWellFormed();
  return {
    case: kind,
    value: { ...value, result: { case: "text", value: text } },
  };
}

type AskingEvent = Extract<ToolEvent, { case: "question" }>;
type SamplingEvent = Extract<ToolEvent, { case: "sample" }>;

/** Asks the model for a call, and waits for its response. */
async function answerSample(
  callId: string,
  { value, reply, withdrawn }: SamplingEvent,
  { sample }: RunContext,
  signal: AbortSignal,
): Promise<void> {
  const wanted = AbortSignal.any([signal, withdrawn]);
  const response = sample
    ? sample(value, callId, wanted)
    : Promise.reject(
        new DevtoolError("the agent has no model to ask", Code.Unimplemented),
      );
  reply(response);
  await response.catch(() => undefined);
}

/**
 * Publishes a question of a running call as a call of its own, which ends when
 * the user answers, or when the question is withdrawn.
 */
async function* ask(
  parent: ToolCall,
  { value: { details, description, options }, reply, withdrawn }: AskingEvent,
  context: RunContext,
  signal: AbortSignal,
): AsyncIterable<CallUpdate> {
  if (withdrawn.aborted) return;
  const call = create(ToolCallSchema, {
    toolCallId: context.nextId(),
    status: ToolCallStatus.PENDING,
    toolName: parent.toolName,
    description: oneLine(description),
    confirmationRequest: create(ConfirmationRequestSchema, {
      options: [...options],
      details,
    }),
  });
  const detail = changedDetail(
    findToolCallDetail(context.task, call.toolCallId),
    {
      parentToolCallId: parent.toolCallId,
    },
  );
  context.confirmations.open(call.toolCallId);
  yield { call, detail };
  const { confirmationRequest: _answered, ...answered } = call;
  let optionId: string;
  try {
    ({ selectedOptionId: optionId } = await context.confirmations.wait(
      call.toolCallId,
      AbortSignal.any([signal, withdrawn]),
    ));
  } catch {
    signal.throwIfAborted();
    yield { call: { ...answered, status: ToolCallStatus.CANCELLED }, detail };
    return;
  }
  if (optionId !== OPTION_CANCEL) {
    yield { call: { ...answered, status: ToolCallStatus.EXECUTING }, detail };
    yield { call: { ...answered, status: ToolCallStatus.SUCCEEDED }, detail };
  }
  reply({ optionId, text: answerText(context.task, call.toolCallId) });
}
