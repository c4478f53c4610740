import { confirmationsOf, type Message, type Part, toolCallsOf } from "@devtool/schema";

/**
 * A conversation without the questions of running calls, and without what the user answered them beside an option: that
 * is between the user and the tool, and no model is told.
 */
export function withoutQuestions(history: readonly Message[]): readonly Message[] {
  return withoutQuestionsIn(history, questionsIn(history));
}

/** The same, where the questions are known by the ids of their calls. */
export function withoutQuestionsIn(history: readonly Message[], questions: ReadonlySet<string>): readonly Message[] {
  return questions.size === 0 ? history : history.map((message) => told(message, questions));
}

/** The ids of the calls in some messages that are questions of running calls. */
export function questionsIn(history: readonly Message[]): Set<string> {
  const ids = new Set<string>();
  // Loops: the first turn of a task looks at the whole conversation that it goes on from.
  for (const { parts } of history) {
    for (const part of parts) {
      if (part.content.case === "toolCall" && isQuestion(part)) ids.add(part.content.value.toolCallId);
    }
  }
  return ids;
}

/** Whether a part is a question of a running call. */
export function isQuestion({ toolCallDetail }: Part): boolean {
  return toolCallDetail !== undefined && toolCallDetail.parentToolCallId !== "";
}

/** An answer stays in its place, so that a summary keeps as many messages as it counted. */
function told(message: Message, questions: ReadonlySet<string>): Message {
  const isAnswer = confirmationsOf(message).some(({ toolCallId }) => questions.has(toolCallId));
  if (isAnswer) return { ...message, parts: message.parts.filter(({ content }) => content.case === "confirmation") };
  return toolCallsOf(message).some(({ toolCallId }) => questions.has(toolCallId))
    ? { ...message, parts: message.parts.filter((part) => !isQuestion(part)) }
    : message;
}
