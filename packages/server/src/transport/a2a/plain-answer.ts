import { create } from "@bufbuild/protobuf";
import {
  awaitedToolCalls,
  declineOf,
  type Message,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  OPTION_REJECT,
  PartSchema,
  Role,
  type Task,
  type ToolCall,
} from "@devtool/schema";
import type { StreamView } from "@devtool/schema/a2a-v03";

const YES: readonly string[] = ["yes", "y"];
const NO: readonly string[] = ["no", "n", "reject", "decline"];

/**
 * Turns the text of a client that is not shown the extension into an answer to
 * all open approvals of a task (CARD-3). One that is shown the extension decides
 * with a confirmation alone: its prompt may be the word yes.
 *
 * The text must be yes, no, or the id of an option that every pending call
 * offers; other messages stay as they are. A no only declines a call, where
 * that is offered beside ending the turn. A message that the task has already,
 * a retry, is read as it was the first time: it must not answer a later
 * question (STREAM-7).
 */
export function withPlainAnswer(
  message: Message,
  task: Task,
  view: StreamView,
): Message {
  const [part] = message.parts;
  if (message.parts.length !== 1 || part?.content.case !== "text") {
    return message;
  }
  const text = part.content.value.trim();
  const earlier = task.history.find(
    (each) => each.messageId === message.messageId && each.role === Role.USER,
  );
  if (earlier) {
    const wasAnswer = earlier.parts.every(
      ({ content }) =>
        content.case === "confirmation" &&
        isMeant(content.value.selectedOptionId, text),
    );
    return wasAnswer ? { ...message, parts: earlier.parts } : message;
  }
  const pending = awaitedToolCalls(task);
  if (
    view === "extension" ||
    pending.length === 0 ||
    !pending.every((call) => offersOption(call, optionOf(call, text)))
  ) {
    return message;
  }
  const parts = pending.map((call) =>
    create(PartSchema, {
      content: {
        case: "confirmation",
        value: {
          toolCallId: call.toolCallId,
          selectedOptionId: optionOf(call, text),
        },
      },
    }),
  );
  return { ...message, parts };
}

/** Returns the option of a call that a text means. */
function optionOf(call: ToolCall, text: string): string {
  const word = text.toLowerCase();
  if (YES.includes(word)) return OPTION_PROCEED_ONCE;
  if (NO.includes(word)) return declineOf(call);
  return offersOption(call, text) ? text : word;
}

/** Whether a text was read as the answer with an option. */
function isMeant(optionId: string, text: string): boolean {
  const word = text.toLowerCase();
  if (YES.includes(word)) return optionId === OPTION_PROCEED_ONCE;
  return NO.includes(word)
    ? [OPTION_REJECT, OPTION_CANCEL].includes(optionId)
    : [text, word].includes(optionId);
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
