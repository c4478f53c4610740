import { create } from "@bufbuild/protobuf";
import {
  type ConfirmationRequest,
  ConfirmationRequestSchema,
  findConfirmation,
  findToolCall,
  GenericDetailsSchema,
  isAwaitingApproval,
  type Message,
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
import { canonicalJson } from "@devtool/schema/json";
import { devtoolErrorOf } from "../errors.ts";
import type { AgentCall, CallOutcome, CallOutput, CallQuestion } from "./agent-call.ts";
import type { AgentEvent } from "./agent-executor.ts";
import type { Confirmations } from "./confirmations.ts";
import { toolFailure } from "./failure.ts";
import { isPrompt } from "./turn-news.ts";

/** Dependencies of `TurnReplay`. */
export interface TurnReplayOptions {
  /** The task as its log has it now. */
  readonly task: () => Task;
  readonly confirmations: Confirmations;
}

/**
 * What an agent says and calls in one turn, beside what earlier runs of it said and called for the same message. A turn that
 * goes on after a restart begins from its top: what the log has is not said again, a call that it has is not asked about
 * again where it was answered, and not run again where it ran.
 */
export class TurnReplay {
  readonly #options: TurnReplayOptions;
  /** The calls of earlier runs that this one has not made again yet. */
  readonly #calls: ToolCall[];
  /** The words of earlier runs that this one has not said again yet. */
  #words: string;
  /** The number of calls that this run made. */
  #count = 0;

  constructor(options: TurnReplayOptions) {
    this.#options = options;
    const earlier = messagesOfTurn(options.task());
    this.#calls = earlier.flatMap(toolCallsOf);
    this.#words = earlier.flatMap(textsOf).join("");
  }

  /** Says something, or what of it is not said yet. Yields what the agent is to yield. */
  *say(text: string): Generator<AgentEvent, void> {
    const words = this.#words;
    if (words.startsWith(text)) {
      this.#words = words.slice(text.length);
      return;
    }
    // The earlier run was cut in the middle of it, or said something else.
    this.#words = "";
    yield { case: "text", value: text.startsWith(words) ? text.slice(words.length) : text };
  }

  /** Makes a call: publishes it, asks, runs it, and gives how it ended. Yields what the agent is to yield. */
  async *call(call: AgentCall, signal: AbortSignal): AsyncGenerator<AgentEvent, CallOutcome> {
    const known = this.#take(call);
    const made = known ? this.#current(known) : newCall(call, this.#nextId());
    if (isAwaitingApproval(made)) this.#options.confirmations.open(made.toolCallId);
    if (!known) yield published(made);
    const ended = outcomeOf(made);
    if (ended) return ended;
    const answer = isAwaitingApproval(made)
      ? await this.#options.confirmations.wait(made.toolCallId, signal)
      : findConfirmation(this.#options.task(), made.toolCallId);
    if (answer?.selectedOptionId === OPTION_CANCEL) return { case: "declined" };
    const { confirmationRequest: _answered, ...approved } = made;
    yield published({ ...approved, status: ToolCallStatus.EXECUTING });
    const finished = await finish(approved, () => call.run(signal, answer), signal);
    yield published(finished);
    return outcomeOf(finished) ?? { case: "declined" };
  }

  /** A call as the log has it now: it may have been answered since the turn began. */
  #current(known: ToolCall): ToolCall {
    return findToolCall(this.#options.task(), known.toolCallId) ?? known;
  }

  /** An id that no other call of the task has: sequences increase, also over restarts. */
  #nextId(): string {
    this.#count++;
    return `call-${this.#options.task().sequence}-${this.#count}`;
  }

  /** The first of the known calls with the same tool and arguments. */
  #take({ toolName, args = {} }: AgentCall): ToolCall | undefined {
    const wanted = canonicalJson(args);
    const index = this.#calls.findIndex(
      (known) => known.toolName === toolName && canonicalJson(known.inputParameters ?? {}) === wanted,
    );
    return index < 0 ? undefined : this.#calls.splice(index, 1)[0];
  }
}

/** What the agent said and called since the message that the turn works on. */
function messagesOfTurn({ history }: Task): Message[] {
  return history.slice(history.findLastIndex(isPrompt) + 1).filter(({ role }) => role === Role.AGENT);
}

function textsOf({ parts }: Message): string[] {
  return parts.flatMap(({ content }) => (content.case === "text" ? [content.value] : []));
}

function newCall({ toolName, args = {}, description, ask }: AgentCall, toolCallId: string): ToolCall {
  return create(ToolCallSchema, {
    ...{ toolCallId, toolName, status: ToolCallStatus.PENDING, inputParameters: structFromJson(args) },
    ...(description !== undefined && { description }),
    ...(ask !== undefined && { confirmationRequest: requestFor(typeof ask === "string" ? questionOf(ask) : ask) }),
  });
}

function questionOf(description: string): CallQuestion {
  return { details: { case: "genericDetails", value: create(GenericDetailsSchema, { description }) } };
}

function requestFor({ details, options = [] }: CallQuestion): ConfirmationRequest {
  const offered = options.length > 0 ? options : DEFAULT_OPTIONS;
  return create(ConfirmationRequestSchema, { options: [...offered], ...(details && { details }) });
}

const DEFAULT_OPTIONS = [
  { id: OPTION_PROCEED_ONCE, name: "Allow once" },
  { id: OPTION_CANCEL, name: "Cancel" },
];

async function finish(
  call: ToolCall,
  run: () => CallOutput | Promise<CallOutput>,
  signal: AbortSignal,
): Promise<ToolCall> {
  try {
    const value = create(ToolOutputSchema, { result: outputOf(await run()) });
    return { ...call, status: ToolCallStatus.SUCCEEDED, result: { case: "output", value } };
  } catch (reason) {
    signal.throwIfAborted();
    const failure = devtoolErrorOf(reason);
    if (!failure) throw reason;
    const value = toolFailure("execution_failed", failure.message);
    return { ...call, status: ToolCallStatus.FAILED, result: { case: "error", value } };
  }
}

function outputOf(output: CallOutput): ToolOutput["result"] {
  return typeof output === "string"
    ? { case: "text", value: output }
    : { case: "structuredData", value: structFromJson(output) };
}

/** How a call ended; undefined while it has not. */
function outcomeOf({ status, result }: ToolCall): CallOutcome | undefined {
  if (status === ToolCallStatus.CANCELLED) return { case: "declined" };
  if (status === ToolCallStatus.FAILED)
    return { case: "failed", message: result.case === "error" ? result.value.message : "" };
  if (status !== ToolCallStatus.SUCCEEDED) return undefined;
  return { case: "succeeded", output: result.case === "output" ? givenBy(result.value.result) : "" };
}

function givenBy(output: ToolOutput["result"]): CallOutput {
  if (output.case === "structuredData") return output.value;
  return output.case === "text" ? output.value : "";
}

function published(call: ToolCall): AgentEvent {
  return { case: "toolCalls", value: [{ call }] };
}
