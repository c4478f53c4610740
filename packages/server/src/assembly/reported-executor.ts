import type { Task } from "@devtool/schema";
import type { AgentEvent, AgentExecutor } from "../agent/agent-executor.ts";
import { devtoolErrorOf } from "../errors.ts";

/**
 * Wraps a factory of executors so that their unexpected errors reach the
 * operator's log. Clients see "internal error" for them.
 */
export function reportedExecutors(
  create: (task: Task) => AgentExecutor,
  onError: (reason: unknown) => void,
): (task: Task) => AgentExecutor {
  return (task) => {
    const executor = create(task);
    const report = (reason: unknown, signal: AbortSignal): void => {
      if (!devtoolErrorOf(reason) && !signal.aborted) onError(reason);
    };
    return {
      takesSteering: executor.takesSteering,
      continuesFromLog: executor.continuesFromLog,
      keepsSession: executor.keepsSession,
      answersWith: (current) => executor.answersWith?.(current) ?? "task",
      modelFor: (current) => executor.modelFor?.(current) ?? "",
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
