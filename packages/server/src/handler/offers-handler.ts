import type { Task } from "@devtool/schema";
import type { AgentOffers } from "../agent/agent-offers.ts";
import { DevtoolError } from "../errors.ts";
import { principalOf } from "./caller.ts";
import type { Exchanges } from "./exchange.ts";
import type { RequestHandler } from "./request-handler.ts";

/**
 * Creates the function that lists the tools and MCP servers of a task.
 *
 * @param offersOf asks the agent; gets the task with the secrets of its MCP
 * servers, which clients never see
 */
export function createOffersHandler(
  exchanges: Exchanges,
  offersOf: (task: Task, signal: AbortSignal) => Promise<AgentOffers>,
): RequestHandler["offers"] {
  return async (taskId, context) => {
    using held = await exchanges.find(taskId, principalOf(context));
    try {
      return await offersOf(held.session.task, context.signal);
    } catch (reason) {
      // For instance, the workspace was removed. The client still gets the rest
      // of the task.
      if (reason instanceof DevtoolError) return { tools: [], mcpServers: [] };
      throw reason;
    }
  };
}
