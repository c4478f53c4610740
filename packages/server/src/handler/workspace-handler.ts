import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { Task, WorkspaceService } from "@devtool/schema";
import type { OpenAgent } from "../agent/agent.ts";
import { principalOf } from "./caller.ts";
import type { Exchanges } from "./exchange.ts";

/**
 * Creates the handler of `WorkspaceService`.
 *
 * @param agentOf returns the agent of a task; undefined when it is no longer
 * served
 */
export function createWorkspaceHandler(
  exchanges: Exchanges,
  agentOf: (task: Task) => OpenAgent | undefined,
): ServiceImpl<typeof WorkspaceService> {
  const taskOf = async (
    taskId: string,
    context: HandlerContext,
  ): Promise<Task> => {
    using held = await exchanges.find(taskId, principalOf(context));
    return held.session.task;
  };
  return {
    async listCheckpoints({ taskId }, context) {
      const task = await taskOf(taskId, context);
      return {
        checkpoints: [
          ...((await agentOf(task)?.workspace?.checkpoints(
            task,
            context.signal,
          )) ?? []),
        ],
      };
    },
    async getWorkspaceSettings({ taskId }, context) {
      const task = await taskOf(taskId, context);
      return (
        (await agentOf(task)?.workspace?.settings(task, context.signal)) ?? {}
      );
    },
  };
}
