import { findToolCall, type Message, type Task } from "@devtool/schema";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import { answeredCalls, fixedArguments } from "./answer.ts";

/**
 * Has the agent check the arguments that a message has in place of those of
 * tool calls (TOOL-12).
 *
 * Throws a `DevtoolError` if one of the calls is not open for them, or its
 * agent does not take them.
 */
export async function checkArguments(
  task: Task,
  message: Message,
  executor: Pick<AgentExecutor, "checkArguments">,
  signal: AbortSignal,
): Promise<void> {
  // Reports faults of the answer itself before it asks the agent.
  answeredCalls(task, message);
  for (const { content, modifiedArguments: args } of message.parts) {
    if (content.case !== "confirmation" || !args) continue;
    const { toolCallId } = content.value;
    const call = findToolCall(task, toolCallId);
    if (!call || !executor.checkArguments) {
      throw fixedArguments(toolCallId, "its agent takes no changed arguments");
    }
    await executor.checkArguments({ task, call, args }, signal);
  }
}
