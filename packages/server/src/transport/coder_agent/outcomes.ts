import {
  findToolCall,
  type Message,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_TOOL,
  type Part,
  type Task,
  type ToolCall,
} from "@devtool/schema";

/**
 * Reads the outcomes of a message as options that its calls offer: the dialect knows one `proceed_always` where we name
 * what it covers. Any other outcome stays as it is, and is refused where it is not offered.
 */
export function withOfferedOutcomes(message: Message, task: Task): Message {
  return { ...message, parts: message.parts.map((part) => withOfferedOutcome(part, task)) };
}

function withOfferedOutcome(part: Part, task: Task): Part {
  const { content } = part;
  if (content.case !== "confirmation" || content.value.selectedOptionId !== OPTION_PROCEED_ALWAYS) return part;
  const call = findToolCall(task, content.value.toolCallId);
  if (!call || offers(call, OPTION_PROCEED_ALWAYS) || !offers(call, OPTION_PROCEED_ALWAYS_TOOL)) return part;
  const value = { ...content.value, selectedOptionId: OPTION_PROCEED_ALWAYS_TOOL };
  return { ...part, content: { case: "confirmation", value } };
}

function offers({ confirmationRequest }: ToolCall, optionId: string): boolean {
  return confirmationRequest?.options.some(({ id }) => id === optionId) ?? false;
}
