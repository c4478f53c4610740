import {
  confirmationsOf,
  findToolCall,
  type Message,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_TOOL,
  type Part,
  Role,
  type Task,
} from "@devtool/schema";
import { offersOption } from "../a2a/plain-answer.ts";

/**
 * Replaces the outcomes in a message by options that its tool calls offer.
 *
 * The dialect has one `proceed_always` where our options name what it covers. Other outcomes stay
 * as they are, and are refused where they are not offered. A message that the task has already, a
 * retry, is read as it was the first time (STREAM-7).
 */
export function withOfferedOutcomes(message: Message, task: Task): Message {
  const earlier = task.history.find(({ role, messageId }) => role === Role.USER && messageId === message.messageId);
  const earlierAnswers = earlier ? confirmationsOf(earlier) : [];
  const meansTool = (toolCallId: string): boolean => {
    const answer = earlierAnswers.find((confirmation) => confirmation.toolCallId === toolCallId);
    if (answer) return answer.selectedOptionId === OPTION_PROCEED_ALWAYS_TOOL;
    const call = findToolCall(task, toolCallId);
    if (!call || offersOption(call, OPTION_PROCEED_ALWAYS)) return false;
    return offersOption(call, OPTION_PROCEED_ALWAYS_TOOL);
  };
  const parts = message.parts.map((part): Part => {
    const { content } = part;
    if (content.case !== "confirmation" || content.value.selectedOptionId !== OPTION_PROCEED_ALWAYS) return part;
    if (!meansTool(content.value.toolCallId)) return part;
    const value = { ...content.value, selectedOptionId: OPTION_PROCEED_ALWAYS_TOOL };
    return { ...part, content: { case: "confirmation", value } };
  });
  return { ...message, parts };
}
