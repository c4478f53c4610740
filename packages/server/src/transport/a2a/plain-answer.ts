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

const OPTION_BY_WORD: ReadonlyMap<string, string> = new Map([
  ["yes", OPTION_PROCEED_ONCE],
  ["y", OPTION_PROCEED_ONCE],
  ["no", OPTION_CANCEL],
  ["n", OPTION_CANCEL],
]);

/**
 * Turns the text of a client that does not know the extension into an answer to
 * all open approvals of a task (CARD-3).
 *
 * The text must be yes, no, or the id of an option that every pending call
 * offers; other messages stay as they are. A message that the task has already,
 * a retry, is read as it was the first time: it must not answer a later
 * question (STREAM-7).
 */
export function withPlainAnswer(message: Message, task: Task): Message {
  const [part] = message.parts;
  if (message.parts.length !== 1 || part?.content.case !== "text") {
    return message;
  }
  const text = part.content.value.trim().toLowerCase();
  const selectedOptionId = OPTION_BY_WORD.get(text) ?? text;
  const earlier = task.history.find(
    ({ role, messageId }) =>
      role === Role.USER && messageId === message.messageId,
  );
  if (earlier) {
    const wasAnswer = earlier.parts.every(
      ({ content }) =>
        content.case === "confirmation" &&
        content.value.selectedOptionId === selectedOptionId,
    );
    return wasAnswer ? { ...message, parts: earlier.parts } : message;
  }
  const pending = awaitedToolCalls(task);
  if (
    pending.length === 0 ||
    !pending.every((call) => offersOption(call, selectedOptionId))
  ) {
    return message;
  }
  const parts = pending.map(({ toolCallId }) =>
    create(PartSchema, {
      content: {
        case: "confirmation",
        value: { toolCallId, selectedOptionId },
      },
    }),
  );
  return { ...message, parts };
}

/** Whether the approval of a tool call offers an option. */
export function offersOption(
  { confirmationRequest }: ToolCall,
  optionId: string,
): boolean {
  return (
    confirmationRequest?.options.some(({ id }) => id === optionId) ?? false
  );
}
