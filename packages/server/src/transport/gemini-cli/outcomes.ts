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
 * The dialect has one `proceed_always` where our options name what it covers.
 * Other outcomes stay as they are, and are refused where they are not offered.
 * A message that the task has already, a retry, is read as it was the first
 * time (STREAM-7).
 */
export function withOfferedOutcomes(message: Message, task: Task): Message {
  const earlier = task.history.find(
    ({ role, messageId }) =>
      role === Role.USER && messageId === message.messageId,
  );
  const earlierAnswers = earlier ? confirmationsOf(earlier) : [];
  const parts = message.parts.map((part): Part => {
    const { content } = part;
    if (
      content.case !== "confirmation" ||
      content.value.selectedOptionId !== OPTION_PROCEED_ALWAYS
    ) {
      return part;
    }
    const { toolCallId } = content.value;
    const answer = earlierAnswers.find(
      (confirmation) => confirmation.toolCallId === toolCallId,
    );
    const call = findToolCall(task, toolCallId);
    const offersOnlyTool =
      call &&
      !offersOption(call, OPTION_PROCEED_ALWAYS) &&
      offersOption(call, OPTION_PROCEED_ALWAYS_TOOL);
    const meansTool = answer
      ? answer.selectedOptionId === OPTION_PROCEED_ALWAYS_TOOL
      : offersOnlyTool;
    if (!meansTool) return part;
    const value = {
      ...content.value,
      selectedOptionId: OPTION_PROCEED_ALWAYS_TOOL,
    };
    return { ...part, content: { case: "confirmation", value } };
  });
  return { ...message, parts };
}
