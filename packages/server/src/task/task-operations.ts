import { create } from "@bufbuild/protobuf";
import {
  findToolCall,
  findToolCallDetail,
  isAwaitingApproval,
  type Message,
  Role,
  type Task,
  type TaskEvent,
  type ToolCallConfirmation,
  ToolCallStatus,
  type TraceContext,
  type Usage,
  UsageSchema,
} from "@devtool/schema";
import type { StepFacts } from "../agent/agent-executor.ts";
import type { CallUpdate } from "../agent/call-update.ts";
import { isPrompt } from "../agent/turn-news.ts";
import type { Operation, OperationEnd, OperationKind } from "../observer.ts";
import {
  CANCELED_OPERATION,
  type OpenOperation,
  type Operations,
  SUCCEEDED,
} from "../operations.ts";

/** Returns what tokens of a model cost; undefined for one without a price. */
type CostOf = (usage: Usage, model: string) => number | undefined;

/**
 * What an observer hears of one open task: its turn, and the calls and questions
 * in it, as the agent has them recorded.
 */
export class TaskOperations {
  readonly #operations: Operations;
  #turn: OpenOperation | undefined;
  readonly #calls = new Map<string, OpenOperation>();
  readonly #questions = new Map<string, OpenOperation>();
  /** The tokens of the turn so far. */
  #usage: Usage | undefined;
  /** What they cost; undefined when no model of the turn has a price. */
  #cost: number | undefined;
  readonly #costOf: CostOf;

  /** @param costOf Default: no model has a price. */
  constructor(operations: Operations, costOf: CostOf = () => undefined) {
    this.#operations = operations;
    this.#costOf = costOf;
  }

  /**
   * Begins a turn of a task, which its last message has started. It is in the
   * trace of that message. It is linked to the prompt that it goes on with, and
   * to a message whose request has ended, as after a restart. That of a slash
   * command is in the trace of its request.
   */
  beginTurn(task: Task): void {
    const { history } = task;
    const last = lastOf(task);
    const prompt = history.findLast(isPrompt) ?? task;
    const isLate = last !== undefined && this.#requestOf(task) === "";
    const linked =
      prompt !== (last ?? task) || isLate ? prompt.traceContext : undefined;
    this.#usage = undefined;
    this.#cost = undefined;
    this.#turn = this.#begin(task, "turn", this.#agentOf(task), {
      subjectId: history.at(-1)?.messageId ?? "",
      links: linked ? [linked] : [],
      facts: { task },
    });
  }

  /**
   * Ends what the turn leaves open. Call the result when the end of the turn is
   * recorded, with the task as the turn has left it.
   */
  endTurn(how: OperationEnd): (task: Task) => void {
    for (const open of [this.#questions, this.#calls]) {
      for (const id of open.keys()) end(open, id, CANCELED_OPERATION);
    }
    const [turn, usage, cost] = [this.#turn, this.#usage, this.#cost];
    return (task) => {
      const finishReason = FINISH_REASONS[how.outcome];
      turn?.finish({ ...how, facts: { task, usage, cost, finishReason } });
      // The next turn may have begun.
      if (this.#turn === turn) this.#turn = undefined;
    };
  }

  /** Returns the place of the turn in a trace, or that of a call that runs. */
  traceContext(callId?: string): TraceContext | undefined {
    const operation =
      callId === undefined ? this.#turn : this.#calls.get(callId);
    return operation?.traceContext;
  }

  /**
   * Begins a request of the agent to its model. Returns what is called when it
   * ends.
   */
  beginStep(
    task: Task,
    model: string,
    { provider, callId }: StepFacts,
  ): (end: OperationEnd) => void {
    const parentId = this.#calls.get(callId ?? "")?.id;
    const step = this.#begin(task, "step", model, {
      ...(parentId !== undefined && { parentId }),
      facts: { provider, turnId: this.#turn?.id },
    });
    return (end) => {
      const { usage } = end.facts ?? {};
      const cost = usage && this.#costOf(usage, model);
      step.finish(
        cost === undefined ? end : { ...end, facts: { ...end.facts, cost } },
      );
    };
  }

  /** Adds tokens of a model to those of the turn. */
  noteUsage(usage: Usage, model: string): void {
    const cost = this.#costOf(usage, model);
    if (cost !== undefined) this.#cost = (this.#cost ?? 0) + cost;
    const sum = this.#usage ?? create(UsageSchema);
    this.#usage = {
      ...usage,
      inputTokens: sum.inputTokens + usage.inputTokens,
      cachedTokens: sum.cachedTokens + usage.cachedTokens,
      outputTokens: sum.outputTokens + usage.outputTokens,
      thoughtTokens: sum.thoughtTokens + usage.thoughtTokens,
    };
  }

  /** Whether the observer hears operations of a kind. */
  hears(kind: OperationKind): boolean {
    return this.#operations.hears(kind);
  }

  /**
   * Begins an append to the log of the task.
   *
   * @param before the task before the events; undefined when they have no call
   */
  beginAppend(
    task: Task,
    events: readonly TaskEvent[],
    before: Task | undefined,
  ): OpenOperation {
    return this.#begin(task, "append", "", {
      facts: {
        sequence: events[0]?.sequence,
        eventCount: events.length,
        isProgress: events.every((event) => isProgress(event, before)),
      },
    });
  }

  /** Notes new versions of calls. */
  note(task: Task, updates: readonly CallUpdate[]): void {
    for (const { call, detail: given } of updates) {
      const { toolCallId: id, toolName, status } = call;
      const detail = given ?? findToolCallDetail(task, id);
      const parentCall = detail?.parentToolCallId ?? "";
      if (!isAwaitingApproval(call)) {
        end(this.#questions, id, SUCCEEDED);
      } else if (!this.#questions.has(id)) {
        const parentId = this.#calls.get(parentCall)?.id;
        const question = this.#begin(task, "question", toolName, {
          subjectId: id,
          ...(parentId !== undefined && { parentId }),
          facts: { rule: detail?.rule },
        });
        this.#questions.set(id, question);
      }
      // A question of a running call is recorded as a call of its own.
      if (parentCall !== "" || status === ToolCallStatus.PENDING) continue;
      if (!this.#calls.has(id)) {
        const facts = { args: call.inputParameters };
        const begun = this.#begin(task, "call", toolName, {
          subjectId: id,
          facts,
        });
        this.#calls.set(id, begun);
      }
      if (status !== ToolCallStatus.EXECUTING) {
        end(this.#calls, id, callEnd(call));
      }
    }
  }

  /** Notes that the user has answered a question, with the last message. */
  noteAnswer({ history }: Task, answer: ToolCallConfirmation): void {
    const trace = history.at(-1)?.traceContext;
    end(this.#questions, answer.toolCallId, {
      ...SUCCEEDED,
      facts: { optionId: answer.selectedOptionId },
      links: trace ? [trace] : [],
    });
  }

  #begin(
    task: Task,
    kind: OperationKind,
    name: string,
    more: Partial<Operation>,
  ): OpenOperation {
    const { id: taskId, principal, contextId } = task;
    return this.#operations.begin({
      parentId: this.#turn?.id ?? this.#requestOf(task),
      kind,
      name,
      principal,
      taskId,
      contextId,
      agent: this.#agentOf(task),
      subjectId: "",
      traceContext: (lastOf(task) ?? task).traceContext,
      ...more,
    });
  }

  #agentOf({ sessionSettings }: Task): string {
    return sessionSettings?.agent || this.#operations.defaultAgent;
  }

  /** Returns the id of the open request with the last message, or "". */
  #requestOf({ principal, history }: Task): string {
    const subjectId = history.at(-1)?.messageId ?? "";
    return this.#operations.requestOf({ principal, subjectId });
  }
}

/** Why the answer of a turn ended, by how the turn did. */
const FINISH_REASONS: Readonly<
  Record<OperationEnd["outcome"], string | undefined>
> = { succeeded: "stop", failed: "error", canceled: undefined };

/** Returns the last message of a client; undefined for the task of a command. */
function lastOf({ history }: Task): Message | undefined {
  return history.findLast(({ role }) => role === Role.USER);
}

function end(
  open: Map<string, OpenOperation>,
  id: string,
  how: OperationEnd,
): void {
  open.get(id)?.finish(how);
  open.delete(id);
}

/**
 * Whether an event is a piece of what a turn says, or of what a running call
 * puts out.
 */
function isProgress({ payload }: TaskEvent, before: Task | undefined): boolean {
  if (payload.case === "text" || payload.case === "thought") return true;
  if (payload.case !== "toolCall" || !before) return false;
  const { status, toolCallId } = payload.value;
  return (
    status === ToolCallStatus.EXECUTING &&
    findToolCall(before, toolCallId)?.status === ToolCallStatus.EXECUTING
  );
}

function callEnd({ status, result }: CallUpdate["call"]): OperationEnd {
  const facts = { result: result.value };
  if (status === ToolCallStatus.SUCCEEDED) return { ...SUCCEEDED, facts };
  return status === ToolCallStatus.FAILED
    ? { outcome: "failed", error: result.value, facts }
    : CANCELED_OPERATION;
}
