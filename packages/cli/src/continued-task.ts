import type { DevtoolClient } from "@devtool/client";
import { findTaskId } from "./task-id.ts";

/** Number of tasks to search for the last conversation: slash commands are tasks as well. */
const LOOKED_AT = 20;

/** How the command line names the task that a chat continues. */
export interface FirstTaskOptions {
  /** The task's id, or the beginning of it. */
  readonly task?: string;
  /** Whether to continue the last conversation in the workspace. */
  readonly continue?: true;
  /** The directory of the conversation. Default: any. */
  readonly workspace?: string | undefined;
  /** The name of the agent of the conversation. Default: any. */
  readonly agent?: string | undefined;
}

/** Returns the id of the task that a chat continues; undefined for a new conversation. Throws when there is no such task. */
export async function firstTask(
  client: DevtoolClient,
  options: FirstTaskOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (options.task !== undefined) return findTaskId(client, options.task, signal);
  if (!options.continue) return undefined;
  const { workspace: workspacePath = "", agent = "" } = options;
  const { tasks } = await client.tasks.listTasks({ workspacePath, agent, pageSize: LOOKED_AT }, { signal });
  for (const { id } of tasks) {
    const { task } = await client.tasks.getTask({ taskId: id }, { signal });
    if (task && !task.command) return id;
  }
  const where = [workspacePath && ` in "${workspacePath}"`, agent && ` with agent "${agent}"`].join("");
  throw new Error(`there is no conversation to continue${where}`);
}
