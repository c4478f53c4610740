import type { DevtoolClient } from "@devtool/client";
import { ApprovalMode } from "@devtool/schema";
import { approvalModeOf, assertWithinLimit } from "./approval-mode.ts";
import { findTaskId } from "./task-id.ts";

/**
 * Maximum number of tasks in which the last conversation is searched: slash
 * commands are tasks as well.
 */
const MAX_SEARCHED = 20;

/** How the command line names the task that it continues. */
export interface ContinuedTaskOptions {
  /** The task's id, or the beginning of it. */
  readonly task?: string;
  /** Whether to continue the last conversation in the workspace. */
  readonly continue?: true;
  /** The directory of the conversation. Default: any. */
  readonly workspace?: string | undefined;
  /** The name of the agent of the conversation. Default: any. */
  readonly agent?: string | undefined;
  /** The name of the approval mode in which it goes on. Default: its own. */
  readonly approvalMode?: string | undefined;
}

/**
 * Returns the id of the task that is continued; undefined for a new
 * conversation. Throws when there is no such task, or when the task may not
 * have the approval mode.
 */
export async function continuedTaskId(
  client: DevtoolClient,
  options: ContinuedTaskOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const mode = approvalModeOf(options.approvalMode);
  const taskId = await findContinuedId(client, options, signal);
  if (taskId !== undefined && mode !== ApprovalMode.UNSPECIFIED) {
    const { task } = await client.tasks.getTask({ taskId }, { signal });
    assertWithinLimit(mode, task?.approvalLimit ?? ApprovalMode.UNSPECIFIED);
  }
  return taskId;
}

async function findContinuedId(
  client: DevtoolClient,
  options: ContinuedTaskOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (options.task !== undefined) {
    return findTaskId(client, options.task, signal);
  }
  if (!options.continue) return undefined;
  const { workspace: workspacePath = "", agent = "" } = options;
  const { tasks } = await client.tasks.listTasks(
    { workspacePath, agent, pageSize: MAX_SEARCHED },
    { signal },
  );
  const found = await latestConversation(client, tasks, signal);
  if (found !== undefined) return found;
  const where = [
    workspacePath && ` in "${workspacePath}"`,
    agent && ` with agent "${agent}"`,
  ].join("");
  throw new Error(`there is no conversation to continue${where}`);
}

/**
 * Returns the id of the task that a slash command has begun in a conversation,
 * as `/goal` does; undefined if there is none.
 */
export async function begunTaskId(
  client: DevtoolClient,
  contextId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { tasks } = await client.tasks.listTasks({ contextId }, { signal });
  return latestConversation(client, tasks, signal);
}

/** Returns the id of the first task that is not a slash command. */
async function latestConversation(
  client: DevtoolClient,
  tasks: readonly { readonly id: string }[],
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const { id } of tasks) {
    const { task } = await client.tasks.getTask({ taskId: id }, { signal });
    if (task && !task.command) return id;
  }
  return undefined;
}
