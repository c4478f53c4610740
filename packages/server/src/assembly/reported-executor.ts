import type { Task } from "@devtool/schema";
import type { AgentEvent, AgentExecutor } from "../agent/agent-executor.ts";
import { devtoolErrorOf } from "../errors.ts";
import type { ServedAgents } from "./served-agents.ts";

/**
 * Wraps the executors of agents so that their unexpected errors reach the
 * operator's log, for which clients see "internal error", and that each event
 * names what answers.
 */
export function reportedExecutors(
  agents: Pick<ServedAgents, "createExecutor" | "modelNameOf">,
  onError: (reason: unknown) => void,
): (task: Task) => AgentExecutor {
  return (task) => {
    const executor = agents.createExecutor(task);
    const report = (reason: unknown, signal: AbortSignal): void => {
      if (!devtoolErrorOf(reason) && !signal.aborted) onError(reason);
    };
    return {
      takesSteering: executor.takesSteering,
      continuesFromLog: executor.continuesFromLog,
      keepsSession: executor.keepsSession,
      answersWith: (current) => executor.answersWith?.(current) ?? "task",
      modelFor: async (current) =>
        (await executor.modelFor?.(current)) || agents.modelNameOf(current),
      checkArguments:
        executor.checkArguments &&
        (async (edit, signal) => {
          try {
            await executor.checkArguments?.(edit, signal);
          } catch (reason) {
            report(reason, signal);
            throw reason;
          }
        }),
      async *execute(turn, signal): AsyncIterable<AgentEvent> {
        try {
          yield* executor.execute(turn, signal);
        } catch (reason) {
          report(reason, signal);
          throw reason;
        }
      },
      [Symbol.asyncDispose]: async () => executor[Symbol.asyncDispose]?.(),
    };
  };
}
