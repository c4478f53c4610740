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
import { invalid, quoted } from "../errors.ts";
import type { TaskStore } from "../store/task-store.ts";
import type { HeldSession } from "../task/held-session.ts";
import { readTask } from "../task/read-task.ts";
import type { SessionRegistry } from "../task/session-registry.ts";

interface Place {
  /** The conversation that the answer names; empty for none. */
  readonly contextId: string;
  readonly principal: string;
}

interface Sessions {
  readonly registry: SessionRegistry;
  readonly store: TaskStore;
}

/** How many tasks that wait for their user are looked at for the one that an answer is for. */
const MAX_ASKING = 500;

/**
 * Finds the one task of a principal that asks what some answers are for, when their message names no task (TOOL-5). Throws
 * a `DevtoolError` that says which tasks ask when there is none or more than one.
 */
export async function findAsking(
  { registry, store }: Sessions,
  answers: readonly ToolCallConfirmation[],
  place: Place,
): Promise<HeldSession> {
  const matching: string[] = [];
  for await (const taskId of waitingTasks(store, place)) {
    // The logs are read without opening sessions: with many tasks, opening one may close another that was found before.
    const task = await readTask(store, taskId);
    if (task && answers.every(({ toolCallId }) => asks(task, toolCallId))) matching.push(taskId);
  }
  const [only = "", ...others] = matching;
  const held = only !== "" && others.length === 0 ? await registry.get(only) : undefined;
  if (held) return held;
  const ids = answers.map(({ toolCallId }) => quoted(toolCallId)).join(", ");
  const where = place.contextId === "" ? "" : ` in context ${quoted(place.contextId)}`;
  if (others.length === 0) {
    const problem = `is missing, and no task asks about tool call ${ids}${where}`;
    throw invalid("task_id", "", problem, "name the task whose question is answered");
  }
  const problem = `is missing, and several tasks ask about tool call ${ids}${where}`;
  throw invalid("task_id", "", problem, `name one of ${matching.join(", ")}`);
}

/** The ids of the tasks that wait for their user, the latest first, at most `MAX_ASKING` or a page more. */
async function* waitingTasks(store: TaskStore, { contextId, principal }: Place): AsyncIterable<string> {
  const query = { principal, state: TaskState.INPUT_REQUIRED, limit: 100, ...(contextId !== "" && { contextId }) };
  let cursor: string | undefined;
  let count = 0;
  do {
    const page = await store.list({ ...query, ...(cursor !== undefined && { cursor }) });
    yield* page.tasks.map(({ taskId }) => taskId);
    count += page.tasks.length;
    cursor = page.cursor;
  } while (cursor !== undefined && count < MAX_ASKING);
}

function asks(task: Task, toolCallId: string): boolean {
  const call = findToolCall(task, toolCallId);
  return call !== undefined && isAwaitingApproval(call);
}

/** Throws for data that was meant as an answer to a task that asks and cannot be read as one: it says what is wrong with it (TOOL-5). */
export function assertNoBrokenAnswers({ parts }: Message, task: Task): void {
  if (awaitedToolCalls(task).length === 0) return;
  for (const [index, { content }] of parts.entries()) {
    if (content.case === "data") assertReadable(content.value, `message.parts[${index}].data`);
  }
}

function assertReadable(data: Parameters<typeof assertNoBrokenAnswer>[0], path: string): void {
  try {
    assertNoBrokenAnswer(data, path);
  } catch (reason) {
    if (!(reason instanceof WireError)) throw reason;
    throw invalid(reason.field, reason.value, reason.message.slice(reason.field.length).trim());
  }
}
