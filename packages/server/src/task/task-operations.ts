import {
  findToolCallDetail,
  isAwaitingApproval,
  type Task,
  ToolCallStatus,
} from "@devtool/schema";
import type { CallUpdate } from "../agent/call-update.ts";
import type { OperationEnd, OperationKind } from "../observer.ts";
import {
  CANCELED_OPERATION,
  type OpenOperation,
  type Operations,
  SUCCEEDED,
} from "../operations.ts";

/**
 * What an observer hears of one open task: its turn, and the calls and questions
 * in it, as the agent has them recorded.
 */
export class TaskOperations {
  readonly #operations: Operations;
  #turn: OpenOperation | undefined;
  readonly #calls = new Map<string, OpenOperation>();
  readonly #questions = new Map<string, OpenOperation>();

  constructor(operations: Operations) {
    this.#operations = operations;
  }

  /** Begins a turn of a task, which its last message has started. */
  beginTurn(task: Task): void {
    const agent = task.sessionSettings?.agent || this.#operations.defaultAgent;
    const messageId = task.history.at(-1)?.messageId;
    this.#turn = this.#begin(task, "turn", agent, messageId);
  }

  /** Ends the turn, and what it leaves open. */
  endTurn(how: OperationEnd): void {
    for (const open of [this.#questions, this.#calls]) {
      for (const id of open.keys()) end(open, id, CANCELED_OPERATION);
    }
    this.#turn?.finish(how);
    this.#turn = undefined;
  }

  /** Begins a request of the agent to its model. */
  beginStep(task: Task, model: string): OpenOperation {
    return this.#begin(task, "step", model);
  }

  /** Begins an append to the log of the task. */
  beginAppend(task: Task): OpenOperation {
    return this.#begin(task, "append", "");
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
        const question = this.#begin(task, "question", toolName, id, parentId);
        this.#questions.set(id, question);
      }
      // A question of a running call is recorded as a call of its own.
      if (parentCall !== "" || status === ToolCallStatus.PENDING) continue;
      if (!this.#calls.has(id)) {
        this.#calls.set(id, this.#begin(task, "call", toolName, id));
      }
      if (status !== ToolCallStatus.EXECUTING) {
        end(this.#calls, id, callEnd(call));
      }
    }
  }

  /** Notes that the user has answered a question. */
  noteAnswer(callId: string): void {
    end(this.#questions, callId, SUCCEEDED);
  }

  #begin(
    task: Task,
    kind: OperationKind,
    name: string,
    subjectId = "",
    parentId = this.#turn?.id ?? this.#requestOf(task),
  ): OpenOperation {
    const { id: taskId, principal } = task;
    return this.#operations.begin({
      parentId,
      kind,
      name,
      principal,
      taskId,
      subjectId,
    });
  }

  /** Returns the id of the open request with the last message, or "". */
  #requestOf({ principal, history }: Task): string {
    const subjectId = history.at(-1)?.messageId ?? "";
    return this.#operations.requestOf({ principal, subjectId });
  }
}

function end(
  open: Map<string, OpenOperation>,
  id: string,
  how: OperationEnd,
): void {
  open.get(id)?.finish(how);
  open.delete(id);
}

function callEnd({ status, result }: CallUpdate["call"]): OperationEnd {
  if (status === ToolCallStatus.SUCCEEDED) return SUCCEEDED;
  return status === ToolCallStatus.FAILED
    ? { outcome: "failed", error: result?.value }
    : CANCELED_OPERATION;
}
