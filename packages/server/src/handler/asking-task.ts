import {
  assertNoBrokenAnswer,
  awaitedToolCalls,
  findToolCall,
  isAwaitingApproval,
  type Message,
  type Task,
  TaskState,
  type ToolCallConfirmation,
  WireError,
} from "@devtool/schema";
import type { ConversationKey } from "../agent/agent.ts";
import { Code, hasCode, invalid, quoted } from "../errors.ts";
import type { OpenTasks } from "../fleet/open-tasks.ts";
import type { TaskStore } from "../store/task-store.ts";
import { listTaskIds, readHead } from "../task/read-task.ts";
import type { HeldTask } from "../task/task-handle.ts";

/** Access to the tasks that may ask. */
interface TaskAccess {
  readonly registry: OpenTasks;
  readonly store: TaskStore;
}

/**
 * The maximum number of waiting tasks that are searched for the one that an
 * answer belongs to.
 */
const MAX_SEARCHED = 500;

/**
 * Finds the task that asks the questions of some answers, for a message that
 * names no task (TOOL-5). Searches the tasks of the principal that changed
 * last; in all contexts when `contextId` is empty.
 *
 * Throws `Code.InvalidArgument` when no task of the principal asks them, or
 * more than one does; the error lists those that do.
 */
export async function findAsking(
  { registry, store }: TaskAccess,
  answers: readonly ToolCallConfirmation[],
  { contextId, principal }: ConversationKey,
): Promise<HeldTask> {
  const waiting = listTaskIds(store, {
    principal,
    state: TaskState.INPUT_REQUIRED,
    contextId: contextId || undefined,
  });
  const matching: string[] = [];
  let searched = 0;
  for await (const taskId of waiting) {
    let task: Task | undefined;
    try {
      // Reads logs without opening tasks: with many of them, opening one could
      // close another that was found before.
      task = (await readHead(store, taskId, "none"))?.task;
    } catch (reason) {
      // A task whose log is damaged can ask nothing.
      if (!hasCode(reason, Code.DataLoss)) throw reason;
    }
    const asksAll = answers.every(({ toolCallId }) => {
      const call = task && findToolCall(task, toolCallId);
      return call !== undefined && isAwaitingApproval(call);
    });
    if (asksAll) matching.push(taskId);
    if (++searched === MAX_SEARCHED) break;
  }
  const [only = "", ...others] = matching;
  const held =
    only !== "" && others.length === 0 ? await registry.get(only) : undefined;
  if (held) return held;
  const ids = answers.map(({ toolCallId }) => quoted(toolCallId)).join(", ");
  const where = contextId === "" ? "" : ` in context ${quoted(contextId)}`;
  const [asking, remedy] =
    others.length === 0
      ? ["no task asks", "name the task whose question is answered"]
      : ["several tasks ask", `name one of ${matching.join(", ")}`];
  const problem = `is missing, and ${asking} about tool call ${ids}${where}`;
  throw invalid("task_id", "", problem, remedy);
}

/**
 * Throws `Code.InvalidArgument` for a data part that looks like an answer to a
 * task that asks, but is not a valid one (TOOL-5). Other data parts are
 * accepted.
 */
export function assertNoBrokenAnswers({ parts }: Message, task: Task): void {
  if (awaitedToolCalls(task).length === 0) return;
  for (const [index, { content }] of parts.entries()) {
    if (content.case !== "data") continue;
    try {
      assertNoBrokenAnswer(content.value, `message.parts[${index}].data`);
    } catch (reason) {
      if (!(reason instanceof WireError)) throw reason;
      throw invalid(
        reason.field,
        reason.value,
        reason.message.slice(reason.field.length).trim(),
      );
    }
  }
}
