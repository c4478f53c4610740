import { create } from "@bufbuild/protobuf";
import {
  isAwaitingApproval,
  type Message,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  openToolCalls,
  PartSchema,
  type Task,
  type ToolCall,
} from "@devtool/schema";

const WORDS: ReadonlyMap<string, string> = new Map([
  ["yes", OPTION_PROCEED_ONCE],
  ["y", OPTION_PROCEED_ONCE],
  ["no", OPTION_CANCEL],
  ["n", OPTION_CANCEL],
]);

/**
 * Reads the text of a client that does not know the extension as its answer to all open questions of a task (CARD-3):
 * yes, no, or the id of an option that each of them offers. Any other text is left as it is.
 */
export function withPlainAnswer(message: Message, task: Task): Message {
  const asked = openToolCalls(task).filter(isAwaitingApproval);
  const [part] = message.parts;
  if (asked.length === 0 || message.parts.length !== 1 || part?.content.case !== "text") return message;
  const text = part.content.value.trim().toLowerCase();
  const optionId = WORDS.get(text) ?? text;
  if (!asked.every((call) => offers(call, optionId))) return message;
  return { ...message, parts: asked.map(({ toolCallId }) => answer(toolCallId, optionId)) };
}

function offers(call: ToolCall, optionId: string): boolean {
  return call.confirmationRequest?.options.some(({ id }) => id === optionId) ?? false;
}

function answer(toolCallId: string, selectedOptionId: string): Message["parts"][number] {
  return create(PartSchema, { content: { case: "confirmation", value: { toolCallId, selectedOptionId } } });
}
