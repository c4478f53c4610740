import {
  confirmationsOf,
  type Message,
  type Part,
  toolCallsOf,
} from "@devtool/schema";

/**
 * Returns a conversation without the questions that running tools asked, and
 * without the text of the user's answers.
 *
 * Such an exchange is between the user and the tool. Models do not get it.
 */
export function withoutQuestions(
  history: readonly Message[],
): readonly Message[] {
  return removeQuestions(history, findQuestions(history));
}

/**
 * Removes the questions with the given call ids, and the text of the answers to
 * them, from messages.
 */
export function removeQuestions(
  history: readonly Message[],
  questions: ReadonlySet<string>,
): readonly Message[] {
  if (questions.size === 0) return history;
  return history.map((message) => {
    // A message that answers a question stays, without its text: a summary
    // counts the messages that it keeps.
    const isAnswer = confirmationsOf(message).some(({ toolCallId }) =>
      questions.has(toolCallId),
    );
    if (isAnswer) {
      return {
        ...message,
        parts: message.parts.filter(
          ({ content }) => content.case === "confirmation",
        ),
      };
    }
    const asks = toolCallsOf(message).some(({ toolCallId }) =>
      questions.has(toolCallId),
    );
    return asks
      ? { ...message, parts: message.parts.filter((part) => !isQuestion(part)) }
      : message;
  });
}

/** Returns the call ids of the questions in messages. */
export function findQuestions(history: readonly Message[]): Set<string> {
  const ids = new Set<string>();
  // Loops rather than `flatMap`: the first turn of a task scans the whole
  // conversation that it continues.
  for (const { parts } of history) {
    for (const part of parts) {
      if (part.content.case === "toolCall" && isQuestion(part)) {
        ids.add(part.content.value.toolCallId);
      }
    }
  }
  return ids;
}

/**
 * Whether a part is a question that a running tool asked: a tool call with a
 * parent.
 */
export function isQuestion({ toolCallDetail }: Part): boolean {
  return toolCallDetail !== undefined && toolCallDetail.parentToolCallId !== "";
}
