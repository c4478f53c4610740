import {
  confirmationsOf,
  findToolCall,
  type Message,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_TOOL,
  type Part,
  Role,
  type Task,
  type ToolCall,
} from "@devtool/schema";

/**
 * Reads the outcomes of a message as options that its calls offer: the dialect knows one `proceed_always` where we name
 * what it covers. Any other outcome stays as it is, and is refused where it is not offered. A message that the task has
 * already is read as it was the first time (STREAM-7).
 */
export function withOfferedOutcomes(message: Message, task: Task): Message {
  const earlier = task.history.find(({ role, messageId }) => role === Role.USER && messageId === message.messageId);
  const before = earlier ? confirmationsOf(earlier) : [];
  const meansTool = (toolCallId: string): boolean => {
    const said = before.find((answer) => answer.toolCallId === toolCallId);
    if (said) return said.selectedOptionId === OPTION_PROCEED_ALWAYS_TOOL;
    const call = findToolCall(task, toolCallId);
    return call !== undefined && !offers(call, OPTION_PROCEED_ALWAYS) && offers(call, OPTION_PROCEED_ALWAYS_TOOL);
  };
  return { ...message, parts: message.parts.map((part) => withOfferedOutcome(part, meansTool)) };
}

function withOfferedOutcome(part: Part, meansTool: (toolCallId: string) => boolean): Part {
  const { content } = part;
  if (content.case !== "confirmation" || content.value.selectedOptionId !== OPTION_PROCEED_ALWAYS) return part;
  if (!meansTool(content.value.toolCallId)) return part;
  const value = { ...content.value, selectedOptionId: OPTION_PROCEED_ALWAYS_TOOL };
  return { ...part, content: { case: "confirmation", value } };
}

function offers({ confirmationRequest }: ToolCall, optionId: string): boolean {
  return confirmationRequest?.options.some(({ id }) => id === optionId) ?? false;
}
