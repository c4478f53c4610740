import { create } from "@bufbuild/protobuf";
import { canonicalJson, defined } from "@devtool/internal/json";
import {
  ConfirmationRequestSchema,
  findConfirmation,
  findToolCall,
  GenericDetailsSchema,
  isAwaitingApproval,
  isEnded,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  Role,
  structFromJson,
  type Task,
  type ToolCall,
  ToolCallSchema,
  ToolCallStatus,
  type ToolOutput,
  ToolOutputSchema,
  toolCallsOf,
} from "@devtool/schema";
import { devtoolErrorOf } from "../errors.ts";
import type {
  AgentCall,
  CallOutcome,
  CallOutput,
  CallQuestion,
} from "./agent-call.ts";
import type { AgentEvent } from "./agent-executor.ts";
import type { Confirmations } from "./confirmations.ts";
import { toolFailure } from "./failure.ts";
import { isPrompt } from "./turn-news.ts";

interface TurnReplayOptions {
  /** Returns the current state of the task. */
  readonly task: () => Task;
  readonly confirmations: Confirmations;
}

/**
 * Implements `Turn.say` and `Turn.call` so that an executor can run again from
 * its start.
 *
 * When a turn continues after a restart or an answer, the executor runs from
 * the beginning. Text and calls that the log already has for this turn are
 * matched with what the executor does now: text is not sent again, an answered
 * question is not asked again, and a call that ran does not run again.
 */
export class TurnReplay {
  readonly #options: TurnReplayOptions;
  /** Calls of earlier runs that this run has not made yet. */
  readonly #calls: ToolCall[];
  /** Text of earlier runs that this run has not sent yet. */
  #text: string;
  /** The number of new calls that this run has made. */
  #count = 0;

  /** @param begun the task as the turn begins or goes on */
  constructor({ history }: Task, options: TurnReplayOptions) {
    this.#options = options;
    const start = history.findLastIndex(isPrompt) + 1;
    const earlier = history
      .slice(start)
      .filter(({ role }) => role === Role.AGENT);
    this.#calls = earlier.flatMap(toolCallsOf);
    this.#text = earlier
      .flatMap(({ parts }) => parts)
      .map(({ content }) => (content.case === "text" ? content.value : ""))
      .join("");
  }

  /** Yields a `text` event for the part of a text that no earlier run sent. */
  *say(text: string): Generator<AgentEvent, void> {
    const sent = this.#text;
    if (sent.startsWith(text)) {
      this.#text = sent.slice(text.length);
      return;
    }
    // The earlier run was interrupted within this text, or sent another one.
    this.#text = "";
    yield {
      case: "text",
      value: text.startsWith(sent) ? text.slice(sent.length) : text,
    };
  }

  /**
   * Makes a call, or continues the equal call of an earlier run: yields its
   * events, returns how it ended.
   */
  async *call(
    call: AgentCall,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, CallOutcome> {
    const { task, confirmations } = this.#options;
    const wanted = canonicalJson(call.args ?? {});
    const index = this.#calls.findIndex(
      ({ toolName, inputParameters = {} }) =>
        toolName === call.toolName && canonicalJson(inputParameters) === wanted,
    );
    const [known] = index < 0 ? [] : this.#calls.splice(index, 1);
    // An open call may have been answered since the turn began: the task has
    // its present form. The id of a new call is not that of any other: the
    // task's sequence increases, also over restarts.
    const isOver = known !== undefined && isEnded(known);
    const made = known
      ? ((isOver ? known : findToolCall(task(), known.toolCallId)) ?? known)
      : newCall(call, `call-${task().sequence}-${++this.#count}`);
    if (isAwaitingApproval(made)) confirmations.open(made.toolCallId);
    if (!known) yield { case: "toolCalls", value: [{ call: made }] };
    const ended = outcomeOf(made);
    if (ended) return ended;
    const answer = isAwaitingApproval(made)
      ? await confirmations.wait(made.toolCallId, signal)
      : findConfirmation(task(), made.toolCallId);
    if (answer?.selectedOptionId === OPTION_CANCEL) return { case: "declined" };
    const { confirmationRequest: _answered, ...approved } = made;
    yield {
      case: "toolCalls",
      value: [{ call: { ...approved, status: ToolCallStatus.EXECUTING } }],
    };
    const finished = await runToEnd(
      approved,
      () => call.run(signal, answer),
      signal,
    );
    yield { case: "toolCalls", value: [{ call: finished }] };
    return outcomeOf(finished) ?? { case: "declined" };
  }
}

/** Creates the pending tool call of an `AgentCall`. */
function newCall(
  { toolName, args = {}, description, ask }: AgentCall,
  toolCallId: string,
): ToolCall {
  const question: CallQuestion | undefined =
    typeof ask === "string"
      ? {
          details: {
            case: "genericDetails",
            value: create(GenericDetailsSchema, { description: ask }),
          },
        }
      : ask;
  const { details, options = [] } = question ?? {};
  const offered = options.length > 0 ? options : DEFAULT_OPTIONS;
  return create(
    ToolCallSchema,
    defined({
      toolCallId,
      toolName,
      status: ToolCallStatus.PENDING,
      inputParameters: structFromJson(args),
      description,
      confirmationRequest:
        question &&
        create(
          ConfirmationRequestSchema,
          defined({ options: [...offered], details }),
        ),
    }),
  );
}

const DEFAULT_OPTIONS = [
  { id: OPTION_PROCEED_ONCE, name: "Allow once" },
  { id: OPTION_CANCEL, name: "Cancel" },
];

/**
 * Runs a call and returns it with its result. A `DevtoolError` is a failed
 * call; other errors, and the signal's reason after an abort, are thrown.
 */
async function runToEnd(
  call: ToolCall,
  run: () => CallOutput | Promise<CallOutput>,
  signal: AbortSignal,
): Promise<ToolCall> {
  try {
    const output = await run();
    const result: ToolOutput["result"] =
      typeof output === "string"
        ? { case: "text", value: output }
        : { case: "structuredData", value: structFromJson(output) };
    const value = create(ToolOutputSchema, { result });
    return {
      ...call,
      status: ToolCallStatus.SUCCEEDED,
      result: { case: "output", value },
    };
  } catch (reason) {
    signal.throwIfAborted();
    const failure = devtoolErrorOf(reason);
    if (!failure) throw reason;
    const value = toolFailure("execution_failed", failure.message);
    return {
      ...call,
      status: ToolCallStatus.FAILED,
      result: { case: "error", value },
    };
  }
}

/** Returns how a call ended; undefined while it is open. */
function outcomeOf({ status, result }: ToolCall): CallOutcome | undefined {
  switch (status) {
    case ToolCallStatus.CANCELLED:
      return { case: "declined" };
    case ToolCallStatus.FAILED:
      return {
        case: "failed",
        message: result.case === "error" ? result.value.message : "",
      };
    case ToolCallStatus.SUCCEEDED: {
      const output = result.case === "output" ? result.value.result : undefined;
      const isKnown =
        output?.case === "structuredData" || output?.case === "text";
      return { case: "succeeded", output: isKnown ? output.value : "" };
    }
    default:
      return undefined;
  }
}
