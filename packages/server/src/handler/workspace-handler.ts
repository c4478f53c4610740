import type { ServiceImpl } from "@connectrpc/connect";
import type { Task, WorkspaceService } from "@devtool/schema";
import type { OpenAgent } from "../agent/agent.ts";
import { principalOf } from "./caller.ts";
import type { Exchanges } from "./exchange.ts";

/**
 * Creates the handler of `WorkspaceService`.
 *
 * @param agentOf returns the agent of a task; undefined when each turn of it
 * would fail
 */
export function createWorkspaceHandler(
  exchanges: Exchanges,
  agentOf: (task: Task) => OpenAgent | undefined,
): ServiceImpl<typeof WorkspaceService> {
  return {
    async listCheckpoints({ taskId }, context) {
      const task = await exchanges.taskOf(taskId, principalOf(context));
      const workspace = agentOf(task)?.workspace;
      const found = await workspace?.checkpoints(task, context.signal);
      return { checkpoints: [...(found ?? [])] };
    },
    async getWorkspaceSettings({ taskId }, context) {
      const task = await exchanges.taskOf(taskId, principalOf(context));
      const workspace = agentOf(task)?.workspace;
      return (await workspace?.settings(task, context.signal)) ?? {};
    },
  };
}
