import type { Task } from "@devtool/schema";
import type { AgentEvent, AgentExecutor } from "../agent/agent-executor.ts";
import { devtoolErrorOf } from "../errors.ts";

/**
 * Makes executors whose unexpected failures are reported: the task says only that there was an internal error, and that the
 * server's log says more.
 */
export function reportedExecutors(
  create: (task: Task) => AgentExecutor,
  onError: (reason: unknown) => void,
): (task: Task) => AgentExecutor {
  return (task) => {
    const executor = create(task);
    const { takesSteering, answersWith } = executor;
    return {
      ...(takesSteering !== undefined && { takesSteering }),
      ...(answersWith && { answersWith: (current: Task) => answersWith.call(executor, current) }),
      modelFor: (current) => executor.modelFor?.(current) ?? "",
      execute: (turn, signal) => reported(executor.execute(turn, signal), signal, onError),
      [Symbol.asyncDispose]: async () => executor[Symbol.asyncDispose]?.(),
    };
  };
}

async function* reported(
  events: ReturnType<AgentExecutor["execute"]>,
  signal: AbortSignal,
  onError: (reason: unknown) => void,
): AsyncIterable<AgentEvent> {
  try {
    yield* events;
  } catch (reason) {
    if (!devtoolErrorOf(reason) && !signal.aborted) onError(reason);
    throw reason;
  }
}
