import { create } from "@bufbuild/protobuf";
import {
  awaitedToolCalls,
  type Message,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  PartSchema,
  Role,
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
 * yes, no, or the id of an option that each of them offers. Any other text is left as it is. A message that the task has
 * already is read as it was the first time, so that a retry is none to a later question (STREAM-7).
 */
export function withPlainAnswer(message: Message, task: Task): Message {
  const [part] = message.parts;
  if (message.parts.length !== 1 || part?.content.case !== "text") return message;
  const text = part.content.value.trim().toLowerCase();
  const optionId = WORDS.get(text) ?? text;
  const earlier = task.history.find(({ role, messageId }) => role === Role.USER && messageId === message.messageId);
  if (earlier) return isAnswer(earlier, optionId) ? { ...message, parts: earlier.parts } : message;
  const asked = awaitedToolCalls(task);
  if (asked.length === 0 || !asked.every((call) => offers(call, optionId))) return message;
  return { ...message, parts: asked.map(({ toolCallId }) => answer(toolCallId, optionId)) };
}

/** Whether a message is nothing but answers, all with this option. */
function isAnswer({ parts }: Message, optionId: string): boolean {
  return parts.every(({ content }) => content.case === "confirmation" && content.value.selectedOptionId === optionId);
}

function offers(call: ToolCall, optionId: string): boolean {
  return call.confirmationRequest?.options.some(({ id }) => id === optionId) ?? false;
}

function answer(toolCallId: string, selectedOptionId: string): Message["parts"][number] {
  return create(PartSchema, { content: { case: "confirmation", value: { toolCallId, selectedOptionId } } });
}
